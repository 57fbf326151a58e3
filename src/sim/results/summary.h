// A result for people at a terminal.
#pragma once

#include <span>
#include <string>

#include "sim/results/run_result.h"

namespace nerve::sim {

// What ran, how long it took beside its bound, and what the fabric did meanwhile.
[[nodiscard]] std::string summary(const RunResult& result);

// One column for each run, one row for each figure that a run has, with the ratio to the first run.
// Jobs are the same when their names are.
[[nodiscard]] std::string comparison(std::span<const RunResult> results);

}  // namespace nerve::sim
