// A result as JSON, for result.json. docs/results.md lists every field.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "sim/results/run_result.h"

namespace nerve::sim {

inline constexpr unsigned kResultVersion = 1;

// One line for each field of the run, and for each job, flow, node, link and series.
[[nodiscard]] std::string to_json(const RunResult& result);

// An error has the field and the reason: "links[3].to is 12, but there are 9 nodes".
[[nodiscard]] Result<RunResult, std::string> from_json(std::string_view text);

}  // namespace nerve::sim
