#include "cli/learn_score.h"

#include <algorithm>

#include "nic/flow_control/policy.h"
#include "sim/results/derived.h"

namespace nerve::cli {
namespace {

constexpr double kPicosPerNano = 1000;
constexpr double kKilobyte = 1000;

std::int64_t log_of(double value) {
  return nic::log2_of(static_cast<std::uint64_t>(std::clamp(value, 1.0, 1e18)));
}

// The 99th percentile over samples of the deepest queue of any switch, while there is one.
double queue_p99(const sim::RunResult& result) {
  std::vector<double> deepest;
  for (const sim::Series& series : result.series) {
    if (!series.name.starts_with("deepest:")) continue;
    deepest.resize(std::max(deepest.size(), series.values.size()));
    for (std::size_t i = 0; i < series.values.size(); ++i) {
      deepest[i] = std::max(deepest[i], series.values[i]);
    }
  }
  std::erase(deepest, 0.0);
  std::ranges::sort(deepest);
  return deepest.empty() ? 0 : sim::percentile(deepest, 990);
}

}  // namespace

LearnFigures learn_figures(const sim::RunResult& result) {
  LearnFigures figures;
  figures.done = !result.jobs.empty();
  std::int64_t jobs = 0;
  std::vector<double> slowdowns;
  for (const sim::JobResult& job : result.jobs) {
    figures.done = figures.done && job.done;
    figures.completion +=
        log_of(static_cast<double>((job.end - job.start).count()) / kPicosPerNano);
    ++jobs;
    std::vector<double> throughput;
    for (const sim::FlowResult& flow : job.flows) {
      if (flow.end <= flow.start) continue;
      if (const double times = sim::slowdown_of(flow); times > 0) slowdowns.push_back(times);
      throughput.push_back(static_cast<double>(flow.bytes) /
                           static_cast<double>((flow.end - flow.start).count()));
    }
    if (throughput.empty()) continue;
    const double jain = sim::jain(throughput);
    figures.jain = figures.jain > 0 ? std::min(figures.jain, jain) : jain;
  }
  figures.completion /= std::max<std::int64_t>(jobs, 1);
  constexpr double kSteps = 256;  // slowdowns are near one
  const double p99 = sim::percentiles_of(std::move(slowdowns)).p99;
  if (p99 > 0) figures.slowdown = log_of(p99 * kSteps) - 8 * kLogOne;
  figures.queue_bytes = queue_p99(result);
  figures.queue = log_of(1 + figures.queue_bytes / kKilobyte);
  for (const sim::LinkResult& link : result.links) {
    figures.utilisation = std::max(figures.utilisation, link.utilisation);
  }
  figures.fallbacks = result.totals.policy_fallbacks;
  figures.events = result.events;
  figures.simulated = result.simulated;
  return figures;
}

std::int64_t cost_of(const LearnFigures& figures) {
  return figures.completion + figures.slowdown / 4 + figures.queue / 16;
}

LearnScore score_of(const LearnPlan& plan, std::span<const std::int64_t> costs) {
  constexpr std::int64_t kTolerated = kLogOne * 7 / 100;  // log2(1.05)
  LearnScore score;
  score.classes.resize(plan.classes.size());
  std::vector<std::int64_t> counts(plan.classes.size());
  for (std::size_t i = 0; i < costs.size(); ++i) {
    score.classes[plan.cases[i].in_class] += costs[i];
    ++counts[plan.cases[i].in_class];
  }
  std::int64_t classes = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    score.classes[i] /= counts[i];
    score.all += score.classes[i] + 2 * std::max<std::int64_t>(score.classes[i] - kTolerated, 0);
    ++classes;
  }
  score.all /= std::max<std::int64_t>(classes, 1);
  return score;
}

}  // namespace nerve::cli
