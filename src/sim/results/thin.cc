#include "sim/results/thin.h"

#include <array>
#include <optional>
#include <utility>

#include "sim/results/derived.h"
#include "sim/results/statistics.h"

namespace nerve::sim {
namespace {

std::vector<FlowResult> thinned(const std::vector<FlowResult>& flows, std::size_t most) {
  struct Slowest {
    std::size_t flow{};
    double slowdown{};
  };
  std::array<Slowest, kSizeClasses.size()> slowest;
  std::vector<bool> keep(flows.size());
  for (std::size_t i = 0; i < flows.size(); ++i) {
    Slowest& known = slowest[size_class_of(flows[i].bytes)];
    const double slowdown = slowdown_of(flows[i]);
    if (slowdown > known.slowdown) known = {i, slowdown};
  }
  for (const Slowest& one : slowest) {
    if (one.slowdown > 0) keep[one.flow] = true;
  }
  for (std::size_t i = 0; i < most; ++i) keep[i * flows.size() / most] = true;
  std::vector<FlowResult> kept;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (keep[i]) kept.push_back(flows[i]);
  }
  return kept;
}

}  // namespace

void thin_flows(RunResult& result, std::size_t most) {
  std::size_t all = 0;
  for (JobResult& job : result.jobs) {
    if (job.flow_count < job.flows.size()) job.flow_count = job.flows.size();
    all += job.flows.size();
  }
  if (all <= most) return;
  std::size_t left = 0;
  for (JobResult& job : result.jobs) {
    if (!job.flows.empty()) job.flows = thinned(job.flows, job.flows.size() * most / all);
    left += job.flows.size();
  }
  result.remarks.push_back(std::to_string(left) + " of " + std::to_string(all) +
                           " flows are kept, evenly chosen; figures of flows are of those");
}

}  // namespace nerve::sim
