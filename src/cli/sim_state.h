// The progress of a simulation as text.
#pragma once

#include <chrono>
#include <string>

#include "sim/results/run_result.h"
#include "sim/run.h"

namespace nerve::cli {

// "12.4 ms simulated, 1 of 2 jobs done"; the jobs are left out if there is only one.
[[nodiscard]] std::string state_text(const sim::RunState& state);

// The same with events per second; preceded by a bar and the estimated time left, if known.
[[nodiscard]] std::string progress_text(const sim::RunState& state,
                                        std::chrono::duration<double> elapsed);

[[nodiscard]] bool all_done(const sim::RunResult& result);

// "1.234 ms": four significant digits.
[[nodiscard]] std::string simulated_text(std::uint64_t picoseconds);

}  // namespace nerve::cli
