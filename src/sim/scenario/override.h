// A key said on the command line: it replaces what the file says.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/scenario/document.h"

namespace nerve::sim {

struct Override {
  std::string key;    // dotted; the jobs and faults by number: job.0.size
  std::string value;  // as in the file; a text needs no quotes

  friend bool operator==(const Override&, const Override&) = default;
};

// From key=value.
[[nodiscard]] Result<Override, std::string> parse_override(std::string_view text);

namespace scenario_file {

// Empty when it could be put there; or why not: it goes through something that is no table, or
// beyond the end of a list. Whether there is such a key is seen when the document is read.
[[nodiscard]] std::string apply(Node& document, const Override& override);

}  // namespace scenario_file
}  // namespace nerve::sim
