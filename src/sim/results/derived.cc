#include "sim/results/derived.h"

#include <algorithm>
#include <array>

#include "sim/results/tiers.h"

namespace nerve::sim {
namespace {

double ratio(double a, double b) { return b > 0 ? a / b : 0; }
// Clamps: a file may contain any value.
Duration picoseconds(double value) {
  return Duration{static_cast<std::int64_t>(std::min(value, 9e18))};
}

bool ended(const FlowResult& flow) { return flow.end > flow.start; }

void add_steps(const JobResult& job, JobFigures& figures) {
  if (job.steps.empty()) return;
  double sum = 0;  // a double does not wrap, whatever the file contains
  for (const Duration step : job.steps) sum += number(step);
  const auto [least, most] = std::ranges::minmax(job.steps);
  figures.step_mean = picoseconds(sum / number(job.steps.size()));
  figures.step_least = least;
  figures.step_most = most;
  if (job.bound.count() <= 0 || sum <= 0) return;
  figures.above_bound = number(figures.step_mean) / number(job.bound) - 1;
  figures.bus_bandwidth_bound = job.bus_bandwidth * (number(figures.step_mean) / number(job.bound));
}

void add_ranks(const JobResult& job, JobFigures& figures) {
  double compute = 0;
  double exposed = 0;
  for (const RankTime& rank : job.ranks) {
    compute += number(rank.compute);
    exposed += number(rank.exposed);
    const double share = ratio(number(rank.exposed), number(rank.compute) + number(rank.exposed));
    figures.idle_share_worst = std::max(figures.idle_share_worst, share);
  }
  figures.compute_share = ratio(compute, compute + exposed);
  figures.idle_share = ratio(exposed, compute + exposed);
}

struct FlowValues {
  std::vector<double> completion;
  std::vector<double> slowdown;
  std::vector<double> throughput;

  void add(const FlowResult& flow) {
    completion.push_back(number(flow.end - flow.start));
    throughput.push_back(number(flow.bytes) / completion.back());
    if (const double times = slowdown_of(flow); times > 0) slowdown.push_back(times);
  }
};

FlowFigures flows_of(const JobResult& job) {
  FlowFigures figures;
  FlowValues all;
  std::array<FlowValues, kSizeClasses.size()> classes;
  for (const FlowResult& flow : job.flows) {
    if (!ended(flow)) continue;
    all.add(flow);
    classes[size_class_of(flow.bytes)].add(flow);
  }
  figures.ended = all.completion.size();
  figures.unfinished = job.flows.size() - all.completion.size();
  figures.jain_completion = jain(all.completion);
  figures.jain_throughput = jain(all.throughput);
  figures.completion_ps = percentiles_of(std::move(all.completion));
  figures.slowdown = percentiles_of(std::move(all.slowdown));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].completion.empty()) continue;
    const std::uint64_t count = classes[i].completion.size();
    figures.size_classes.push_back({kSizeClasses[i].name, kSizeClasses[i].below, count,
                                    percentiles_of(std::move(classes[i].completion)),
                                    percentiles_of(std::move(classes[i].slowdown))});
  }
  return figures;
}

JobFigures figures_of(const JobResult& job) {
  JobFigures figures{.name = job.name};
  if (job.end > job.start) figures.completion = job.end - job.start;
  add_steps(job, figures);
  add_ranks(job, figures);
  figures.flows = flows_of(job);
  return figures;
}

LinkGroupFigures figures_of(const LinkGroup& group, const std::vector<LinkResult>& links) {
  LinkGroupFigures figures{.name = group.name,
                           .links = static_cast<std::uint32_t>(group.links.size())};
  std::vector<double> shares;
  double paused = 0;
  for (const std::uint32_t number_of_link : group.links) {
    const LinkResult& link = links[number_of_link];
    shares.push_back(link.utilisation);
    figures.most_queued = std::max<std::uint64_t>(figures.most_queued, link.most_queued);
    figures.marked += link.marked;
    figures.dropped += link.dropped;
    figures.pauses += link.pauses;
    paused += number(link.paused);
  }
  figures.paused = picoseconds(paused);
  figures.utilisation_jain = jain(shares);
  const Percentiles spread = percentiles_of(std::move(shares));
  figures.utilisation_mean = spread.mean;
  figures.utilisation_largest = spread.largest;
  return figures;
}

Equipment equipment_of(const RunResult& result) {
  Equipment all{.cables = result.links.size() / 2};
  for (const NodeResult& node : result.nodes) all.switches += node.is_switch ? 1 : 0;
  for (const LinkResult& link : result.links) {
    all.switch_ports +=
        result.nodes[link.from].is_switch ? 1 : 0;  // each port is the source of one link
  }
  return all;
}

template <class Value>
std::vector<std::uint32_t> largest(const RunResult& result, bool of_switches, Value value) {
  constexpr std::size_t kShown = 10;
  std::vector<std::uint32_t> order;
  for (std::uint32_t i = 0; i < result.links.size(); ++i) {
    if (of_switches && !result.nodes[result.links[i].from].is_switch) continue;
    if (value(result.links[i]) > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](std::uint32_t i) { return value(result.links[i]); });
  if (order.size() > kShown) order.resize(kShown);
  return order;
}

}  // namespace

double slowdown_of(const FlowResult& flow) {
  if (!ended(flow) || flow.ideal.count() <= 0) return 0;
  return number(flow.end - flow.start) / number(flow.ideal);
}

Derived derive(const RunResult& result) {
  Derived all;
  for (const JobResult& job : result.jobs) all.jobs.push_back(figures_of(job));
  all.equipment = equipment_of(result);
  for (const LinkGroup& group : group_links(result.nodes, result.links)) {
    all.link_groups.push_back(figures_of(group, result.links));
  }
  all.busiest_links = largest(result, false, [](const LinkResult& l) { return l.utilisation; });
  all.deepest_queues = largest(result, true, [](const LinkResult& l) { return l.most_queued; });
  const Totals& totals = result.totals;
  all.retransmitted_share = ratio(number(totals.retransmitted), number(totals.data_packets));
  all.marked_share = ratio(number(totals.marked), number(totals.data_packets));
  all.events_per_second = ratio(number(result.events), result.wall_seconds);
  return all;
}

}  // namespace nerve::sim
