// A key set on the command line. It replaces the value in the file.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/scenario/document.h"

namespace nerve::sim {

struct Override {
  std::string key;    // dotted, with the index of jobs and faults: job.0.size
  std::string value;  // in the syntax of the file; a text needs no quotes

  friend bool operator==(const Override&, const Override&) = default;
};

// Parses key=value.
[[nodiscard]] Result<Override, std::string> parse_override(std::string_view text);

namespace scenario_file {

// Returns an empty string, or why the key cannot be set: its path goes through a value that is not
// a table, or past the end of a list. Unknown keys are reported when the document is read.
[[nodiscard]] std::string apply(Node& document, const Override& override);

}  // namespace scenario_file
}  // namespace nerve::sim
