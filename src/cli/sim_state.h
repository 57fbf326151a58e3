// How far a simulation has come, in words.
#pragma once

#include <chrono>
#include <string>

#include "sim/results/run_result.h"
#include "sim/run.h"

namespace nerve::cli {

// 12.4 ms simulated, 1 of 2 jobs done; of the only job nothing is said
[[nodiscard]] std::string state_text(const sim::RunState& state);

// The same with events a second; before it a bar and how long it may still take, where that can be
// told.
[[nodiscard]] std::string progress_text(const sim::RunState& state,
                                        std::chrono::duration<double> elapsed);

[[nodiscard]] bool all_done(const sim::RunResult& result);

// 1.234 ms: four digits that matter.
[[nodiscard]] std::string simulated_text(std::uint64_t picoseconds);

}  // namespace nerve::cli
