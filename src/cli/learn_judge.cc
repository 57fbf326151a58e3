#include "cli/learn_judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace nerve::cli {
namespace {

using nic::CcAlgorithm;

constexpr LearnRival kRivals[] = {{"learned", CcAlgorithm::kLearned},
                                  {"dcqcn", CcAlgorithm::kDcqcn},
                                  {"timely", CcAlgorithm::kTimely},
                                  {"swift", CcAlgorithm::kSwift},
                                  {"hpcc", CcAlgorithm::kHpcc}};
constexpr std::size_t kCount = std::size(kRivals);
constexpr std::size_t kRuns = kCount + 1;  // of a case
constexpr std::size_t kLearnedAt = 0;
constexpr std::size_t kHpccAt = kCount - 1;

double factor_of(double log) { return std::exp2(log / static_cast<double>(kLogOne)); }

// The best of the rivals between the policy and HPCC.
std::int64_t best_of(std::span<const LearnOutcome> of_case) {
  std::int64_t best = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 1; i < kHpccAt; ++i) {
    if (of_case[i].figures.done) best = std::min(best, of_case[i].figures.completion);
  }
  return best;
}

// Fair rates over the best of them, in one class.
double fair_in(const LearnPlan& plan, std::span<const LearnOutcome> outcomes,
               std::size_t in_class) {
  double sum = 0;
  double cases = 0;
  for (std::size_t i = 0; i < plan.cases.size(); ++i) {
    const auto of_case = outcomes.subspan(i * kRuns, kRuns);
    const std::int64_t best = best_of(of_case);
    if (plan.cases[i].in_class != in_class || best == std::numeric_limits<std::int64_t>::max()) {
      continue;
    }
    sum += static_cast<double>(of_case[kCount].figures.completion - best);
    ++cases;
  }
  return cases > 0 ? factor_of(sum / cases) : 1;
}

double best_completion(const std::vector<LearnVerdict>& verdicts) {
  double best = verdicts[1].completion;
  for (std::size_t i = 2; i < kHpccAt; ++i) best = std::min(best, verdicts[i].completion);
  return best;
}

}  // namespace

std::span<const LearnRival> learn_rivals() { return kRivals; }

LearnJudgement judge(const LearnPlan& plan, std::span<const LearnOutcome> outcomes) {
  LearnJudgement judgement;
  judgement.verdicts.assign(plan.classes.size() + 1, std::vector<LearnVerdict>(kCount));
  for (std::size_t in_class = 0; in_class < plan.classes.size(); ++in_class) {
    for (std::size_t rival = 0; rival < kCount; ++rival) {
      LearnVerdict& verdict = judgement.verdicts[in_class][rival];
      double cases = 0;
      double with_flows = 0;
      double completion = 0;
      double slowdown = 0;
      for (std::size_t i = 0; i < plan.cases.size(); ++i) {
        if (plan.cases[i].in_class != in_class) continue;
        const auto of_case = outcomes.subspan(i * kRuns, kRuns);
        const LearnFigures& figures = of_case[rival].figures;
        verdict.fallbacks += figures.fallbacks;
        if (!figures.done) {
          ++verdict.not_done;
          continue;
        }
        ++cases;
        const std::int64_t best = best_of(of_case);
        if (best != std::numeric_limits<std::int64_t>::max()) {
          completion += static_cast<double>(figures.completion - best);
        }
        if (figures.jain > 0) {
          ++with_flows;
          slowdown += static_cast<double>(figures.slowdown);
          verdict.jain += figures.jain;
        }
        verdict.queue += figures.queue_bytes;
        verdict.utilisation += figures.utilisation;
      }
      if (cases == 0) continue;
      verdict.completion = factor_of(completion / cases);
      verdict.queue /= cases;
      verdict.utilisation /= cases;
      if (with_flows == 0) continue;
      verdict.slowdown = factor_of(slowdown / with_flows);
      verdict.jain /= with_flows;
    }
  }
  double fair = 0;
  for (std::size_t in_class = 0; in_class < plan.classes.size(); ++in_class) {
    judgement.fair.push_back(fair_in(plan, outcomes, in_class));
    fair += std::log2(judgement.fair.back());
  }
  judgement.fair.push_back(std::exp2(fair / static_cast<double>(plan.classes.size())));
  for (std::size_t rival = 0; rival < kCount; ++rival) {
    LearnVerdict& all = judgement.verdicts.back()[rival];
    double completion = 0;
    for (std::size_t i = 0; i < plan.classes.size(); ++i) {
      const LearnVerdict& one = judgement.verdicts[i][rival];
      completion += std::log2(std::max(one.completion, 1e-9));
      all.fallbacks += one.fallbacks;
      all.not_done += one.not_done;
    }
    all.completion = std::exp2(completion / static_cast<double>(plan.classes.size()));
  }
  return judgement;
}

std::string judgement_table(const LearnPlan& plan, const LearnJudgement& judgement) {
  std::string text =
      fmt::format("{:<19}{:<9}{:>11}{:>14}{:>11}{:>7}{:>13}{:>11}\n", "class", "", "completion",
                  "p99 slowdown", "p99 queue", "Jain", "busiest link", "fallbacks");
  for (std::size_t i = 0; i < judgement.verdicts.size(); ++i) {
    const bool all = i == plan.classes.size();
    for (std::size_t rival = 0; rival < kCount; ++rival) {
      const LearnVerdict& one = judgement.verdicts[i][rival];
      const std::string name = rival == 0 ? (all ? "all classes" : plan.classes[i]) : "";
      text += fmt::format("{:<19}{:<9}{:>11.3f}", name, kRivals[rival].name, one.completion);
      if (!all) {
        text +=
            one.slowdown > 0 ? fmt::format("{:>14.2f}", one.slowdown) : fmt::format("{:>14}", "-");
        text += fmt::format("{:>8.0f} KB", one.queue / 1000);
        text += one.jain > 0 ? fmt::format("{:>7.3f}", one.jain) : fmt::format("{:>7}", "-");
        text += fmt::format("{:>11.1f} %", one.utilisation * 100);
        if (rival == kLearnedAt) text += fmt::format("{:>11}", one.fallbacks);
      }
      if (one.not_done > 0) text += fmt::format("  {} NOT DONE", one.not_done);
      text += "\n";
    }
    text += fmt::format("{:<19}{:<9}{:>11.3f}\n", "", "(fair)", judgement.fair[i]);
  }
  return text;
}

std::string aims_text(const LearnPlan& plan, const LearnJudgement& judgement) {
  constexpr double kPercent = 100;
  std::string text;
  double worst = 0;
  std::string where;
  for (std::size_t i = 0; i < plan.classes.size(); ++i) {
    const std::vector<LearnVerdict>& verdicts = judgement.verdicts[i];
    const double over = verdicts[kLearnedAt].completion / best_completion(verdicts);
    if (over > worst) {
      worst = over;
      where = plan.classes[i];
    }
  }
  const std::vector<LearnVerdict>& all = judgement.verdicts.back();
  const double mine = all[kLearnedAt].completion;
  text += fmt::format(
      "against the best algorithm without telemetry, at most 5 % worse on any class: {} ({:+.1f} % "
      "on {})\n",
      worst <= 1.05 ? "reached" : "missed", (worst - 1) * kPercent, where);
  const double over = mine / best_completion(all);
  text += fmt::format("10 % better than it over all classes: {} ({:+.1f} %)\n",
                      over <= 0.9 ? "reached" : "missed", (over - 1) * kPercent);
  const double hpcc = mine / all[kHpccAt].completion;
  text += fmt::format("within 10 % of HPCC, which has telemetry: {} ({:+.1f} %)\n",
                      hpcc <= 1.1 ? "reached" : "missed", (hpcc - 1) * kPercent);
  return text;
}

}  // namespace nerve::cli
