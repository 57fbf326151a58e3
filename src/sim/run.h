// Puts a scenario to work: builds its networks, servers and jobs, lets time pass until the jobs are
// done, and says what it has seen.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"
#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim {

struct RunState {
  Time now{};
  std::uint64_t events{};
  std::uint32_t jobs_done{};
  std::uint32_t jobs{};
  double share{};  // of all bytes that jobs will move, about; zero when a job cannot tell
};

struct RunOptions {
  // Called about ten times a second. What it does changes nothing of what the run shows.
  std::function<void(const RunState&)> progress;
};

// A run always ends: when all jobs are done, when one that is not can never be (a message was lost
// for good, or nothing is left to happen), or at the scenario's limit. Each job then says in its
// `trouble` what kept it. The error is for scenarios that cannot be built.
[[nodiscard]] Result<RunResult, std::string> run(const Scenario& scenario,
                                                 const RunOptions& options = {});

// About how many bytes run() will need. For scenarios that cannot be built, zero.
[[nodiscard]] std::uint64_t memory_needed(const Scenario& scenario);

}  // namespace nerve::sim
