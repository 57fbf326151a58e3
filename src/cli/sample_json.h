// A sample as JSON, for the page of `nerve web`.
#pragma once

#include <string>

#include "cli/sample.h"

namespace nerve::cli {

// {"at": seconds, "devices": [{"name", "up"}], "programs": [...]}. A program has "pid", "program",
// "running", "answers", "counters" (named as by `nerve stat --json`) and "qps". Programs that have
// ended are listed with their last counters, the youngest 64 of them.
[[nodiscard]] std::string sample_json(const Sample& sample);

}  // namespace nerve::cli
