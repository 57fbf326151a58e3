// The judgement of a policy: the same cases with each algorithm, and how they compare.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/learn_plan.h"
#include "cli/learn_runs.h"

namespace nerve::cli {

struct LearnRival {
  const char* name;
  nic::CcAlgorithm algorithm;
};
// The policy first, then the ones without telemetry, then HPCC.
[[nodiscard]] std::span<const LearnRival> learn_rivals();

// Of one algorithm in one class: means over its cases; completion and slowdown geometric.
struct LearnVerdict {
  double completion{};  // over the best algorithm without telemetry, case by case
  double slowdown{};    // p99 of flows; zero: no flows
  double queue{};       // p99 of the deepest queue, bytes
  double jain{};
  double utilisation{};
  std::uint64_t fallbacks{};
  std::size_t not_done{};
};

struct LearnJudgement {
  // By class, with one more for all classes, which count alike; then by rival.
  std::vector<std::vector<LearnVerdict>> verdicts;
  // The same for flows that share links by fair rates, at once and without queues: about what an
  // algorithm could reach. By class, then all classes.
  std::vector<double> fair;
};

// `outcomes` of every case with every rival, in that order, and then with fair rates.
[[nodiscard]] LearnJudgement judge(const LearnPlan& plan, std::span<const LearnOutcome> outcomes);

[[nodiscard]] std::string judgement_table(const LearnPlan& plan, const LearnJudgement& judgement);
// One sentence for each aim: what was reached.
[[nodiscard]] std::string aims_text(const LearnPlan& plan, const LearnJudgement& judgement);

}  // namespace nerve::cli
