#include "sim/results/sample_columns.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace nerve::sim {
namespace {

using enum Merge;

constexpr double kPicoseconds = 1e12;  // per second
constexpr double kBits = 8;            // per byte

// Limits the digits in the file, which would otherwise be most of its size.
double rounded(double value, double steps) { return std::floor(value * steps + 0.5) / steps; }

}  // namespace

SampleColumns::SampleColumns(std::span<const NodeResult> nodes, std::span<const LinkResult> links)
    : merges_(kCommon, kSum), places_(links.size()) {
  lay_out_links(nodes, links);
  lay_out_tiers(nodes, links);
  lay_out_queues(nodes, links);
}

std::size_t SampleColumns::add(std::initializer_list<Merge> columns) {
  merges_.insert(merges_.end(), columns);
  return merges_.size() - columns.size();
}

void SampleColumns::lay_out_links(std::span<const NodeResult> nodes,
                                  std::span<const LinkResult> links) {
  first_group_ = merges_.size();
  for (LinkGroup& group : group_links(nodes, links)) {
    const std::size_t column = add({kSum, kMean});
    double rate = 0;
    for (const std::uint32_t link : group.links) {
      places_[link].group = column;
      rate += static_cast<double>(links[link].rate_bps);
    }
    groups_.push_back({std::move(group.name), rate});
  }
}

void SampleColumns::lay_out_tiers(std::span<const NodeResult> nodes,
                                  std::span<const LinkResult> links) {
  const std::vector<std::string> names = tier_names(nodes);
  std::map<std::uint16_t, std::size_t> columns;
  for (const NodeResult& node : nodes) {
    if (node.is_switch) columns[node.tier] = 0;
  }
  first_tier_ = merges_.size();
  for (auto& [tier, column] : columns) {
    column = add({kPeak, kMean});
    tiers_.push_back(names[tier]);
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    const NodeResult& from = nodes[links[i].from];
    if (from.is_switch) places_[i].tier = columns[from.tier];
  }
}

void SampleColumns::lay_out_queues(std::span<const NodeResult> nodes,
                                   std::span<const LinkResult> links) {
  const auto of_switch = [&](const LinkResult& link) { return nodes[link.from].is_switch; };
  const bool each_port =
      static_cast<std::size_t>(std::ranges::count_if(links, of_switch)) <= kMostPorts;
  std::map<std::string, std::uint32_t> cables;  // number of cables between the same two nodes
  std::map<std::uint32_t, std::size_t> switches;
  first_queue_ = merges_.size();
  for (std::size_t i = 0; i < links.size(); ++i) {
    const LinkResult& link = links[i];
    if (!of_switch(link)) continue;
    if (const auto known = switches.find(link.from); !each_port && known != switches.end()) {
      places_[i].queue = known->second;
      continue;
    }
    places_[i].queue = switches[link.from] = add({kPeak});
    std::string name = each_port ? link_name(nodes, link) : nodes[link.from].name;
    if (const std::uint32_t count = ++cables[name]; count > 1) name += "#" + std::to_string(count);
    queues_.push_back(std::move(name));
  }
}

std::vector<std::size_t> SampleColumns::deepest(const Samples& samples, std::uint32_t most) const {
  std::vector<std::uint64_t> peaks(queues_.size());
  for (std::size_t row = 0; row < samples.size(); ++row) {
    for (std::size_t i = 0; i < peaks.size(); ++i) {
      peaks[i] = std::max(peaks[i], samples.at(row, first_queue_ + i));
    }
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < peaks.size(); ++i) {
    if (peaks[i] > 0) order.push_back(i);
  }
  std::ranges::stable_sort(order, std::ranges::greater{}, [&](std::size_t i) { return peaks[i]; });
  if (order.size() > most) order.resize(most);
  return order;
}

std::vector<Series> SampleColumns::series(const Samples& samples, Duration last,
                                          std::uint32_t top_queues) const {
  std::vector<Series> all;
  const auto add_series = [&](std::string name, std::string unit, std::size_t column, double factor,
                              double steps, bool in_time) {
    Series& made = all.emplace_back(Series{std::move(name), std::move(unit), {}});
    made.values.reserve(samples.size());
    for (std::size_t row = 0; row < samples.size(); ++row) {
      const Duration length = row + 1 == samples.size() ? last : samples.every();
      const double value = static_cast<double>(samples.at(row, column)) * factor;
      made.values.push_back(
          rounded(in_time ? value / static_cast<double>(length.count()) : value, steps));
    }
  };
  constexpr double kGigabits = kBits * kPicoseconds / 1e9;  // from bytes per picosecond
  add_series("goodput", "Gb/s", kDelivered, kGigabits, 1e3, true);
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    const std::size_t column = first_group_ + 2 * i;
    add_series("utilisation:" + groups_[i].name, "share", column,
               kBits * kPicoseconds / groups_[i].rate_bps, 1e4, true);
    add_series("busiest:" + groups_[i].name, "share", column + 1, 1e-6, 1e4, false);
  }
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    const std::size_t column = first_tier_ + 2 * i;
    add_series("deepest:" + tiers_[i], "bytes", column, 1, 1, false);
    add_series("queued:" + tiers_[i], "bytes", column + 1, 1, 1, false);
  }
  add_series("paused", "ports", kPaused, 1, 1e3, true);
  add_series("marks", "1/s", kMarked, kPicoseconds, 1, true);
  add_series("drops", "1/s", kDropped, kPicoseconds, 1, true);
  add_series("losses", "1/s", kLost, kPicoseconds, 1, true);
  for (const std::size_t i : deepest(samples, top_queues)) {
    add_series("queue:" + queues_[i], "bytes", first_queue_ + i, 1, 1, false);
  }
  return all;
}

}  // namespace nerve::sim
