// How good congestion control was in a run, in integers: logarithms with base 2, in units of
// 1/4096, so that scores are the same on every machine.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cli/learn_plan.h"
#include "sim/results/run_result.h"

namespace nerve::cli {

inline constexpr std::int64_t kLogOne = 4096;

struct LearnFigures {
  bool done{};
  std::int64_t completion{};  // log of the jobs' completion times in ns: the mean over jobs
  std::int64_t slowdown{};    // log of the p99 slowdown of flows; zero: there are none
  std::int64_t queue{};       // log of 1 + the p99 of the deepest queue in KB
  // For the table only.
  Duration simulated{};
  double queue_bytes{};
  double jain{};  // of the throughput of flows, the least of all jobs; zero: there are none
  double utilisation{};
  std::uint64_t fallbacks{};
  std::uint64_t events{};
};
[[nodiscard]] LearnFigures learn_figures(const sim::RunResult& result);

// What the search minimises: the log of the completion time, a quarter of that of the slowdown, a
// sixteenth of that of the queue.
[[nodiscard]] std::int64_t cost_of(const LearnFigures& figures);

// A run that is not done, or not done in time, costs so much more than the best baseline.
inline constexpr std::int64_t kNotDone = 4 * kLogOne;

struct LearnScore {
  std::int64_t all{};                 // the smaller, the better; zero: as good as the baselines
  std::vector<std::int64_t> classes;  // the mean of each class
};
// `costs` of each case, over those of its best baseline. Classes count alike; what a class loses
// beyond 5 % counts three times.
[[nodiscard]] LearnScore score_of(const LearnPlan& plan, std::span<const std::int64_t> costs);

}  // namespace nerve::cli
