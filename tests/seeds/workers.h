// Tries the seeds of a plan in forked processes, which take one seed after another from a counter
// in shared memory: each seed is tried once, however many there are and however long one takes.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/seeds/plan.h"

namespace nerve::test {

struct FailedSeed {
  std::uint64_t seed{};
  std::string how;  // "failed", "ended by signal 6 (Aborted)", "took longer than 300 s"

  friend bool operator==(const FailedSeed&, const FailedSeed&) = default;
};

struct SeedRun {
  std::uint64_t tried{};
  std::vector<FailedSeed> failed;  // by seed
};

struct WorkerHooks {
  std::function<bool(std::uint64_t seed)> passes;             // runs in a worker
  std::function<void(const FailedSeed&)> failed = {};         // runs in this process, immediately
  std::function<void(std::uint64_t tried)> progress = {};     // runs in this process, several times
                                                              // a second
  std::chrono::milliseconds limit = std::chrono::minutes{5};  // for one seed
};

// Stops after plan.failures failed seeds; seeds in progress are finished.
SeedRun run_in_workers(const SeedPlan& plan, const WorkerHooks& hooks);

}  // namespace nerve::test
