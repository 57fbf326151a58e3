// Runs a scenario: builds its networks, servers and jobs, runs the simulation until the jobs are
// done, and returns the result.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/host/nic_trace.h"
#include "sim/ranks.h"
#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim {

struct RunState {
  Time now{};
  std::uint64_t events{};
  std::uint32_t jobs_done{};
  std::uint32_t jobs{};
  double share{};  // of all bytes that the jobs will move, estimated; zero: unknown
};

// What the NICs of two GPUs do for each other: from the first lane between them.
struct RunTrace {
  std::uint32_t from{};
  std::uint32_t to{};
  std::uint64_t messages{1000};  // of each QP, in each direction
  std::vector<NicTrace> nics{};  // filled by run(): that of `from`, then that of `to`
};

struct RunOptions {
  // Called about ten times per second. It cannot affect the result.
  std::function<void(const RunState&)> progress;
  RunTrace* trace{};       // null: nothing is traced. It cannot affect the result either.
  std::uint32_t cores{1};  // that it may use. The result does not depend on it.
  // The ranks that run it together; null: this process alone. Each has `cores`. Nor does the result
  // depend on them; rank zero gets it, the others get a part of it.
  Ranks* ranks{};
  // Called with what the user should know, if a scenario cannot be divided among ranks. Rank zero
  // then runs it alone, and the others get an empty result.
  std::function<void(const std::string&)> note{};
};

// A run always ends: when all jobs are done, when a job that is not done can no longer be (a
// message has failed, or no event is left), or at the scenario's time limit. The `trouble` of a job
// says why it is not done. An error means that the scenario cannot be built.
[[nodiscard]] Result<RunResult, std::string> run(const Scenario& scenario,
                                                 const RunOptions& options = {});

// An estimate of the memory that each rank needs in run(); zero if the scenario cannot be built.
[[nodiscard]] std::uint64_t memory_needed(const Scenario& scenario, std::uint32_t ranks = 1);

}  // namespace nerve::sim
