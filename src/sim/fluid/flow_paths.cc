#include "sim/fluid/flow_paths.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kMostStages = 64;  // the longest path

}  // namespace

FlowPaths::FlowPaths(Fabric& fabric, FairRates& rates, std::vector<std::uint32_t> share_used)
    : fabric_{fabric},
      rates_{rates},
      share_used_{std::move(share_used)},
      link_of_(fabric.ports().size(), FairRates::kNone),
      part_of_(fabric.graph().nodes.size()) {}

// In kb/s; zero while the cable is down.
std::int64_t FlowPaths::capacity_of(PortId id) const {
  const Port& port = fabric_.ports()[id.value()];
  if (!port.up) return 0;
  const auto rate = static_cast<std::int64_t>(port.rate.bits_per_second() / 1000);
  return port.switch_number == kNobody ? rate : rate * share_used_[port.network] / 1000;
}

FairRates::Number FlowPaths::own_link(PortId port) {
  FairRates::Number& link = link_of_[port.value()];
  if (link == FairRates::kNone) {
    link = rates_.add_link(capacity_of(port));
    ports_.resize(link + 1);
    ports_[link] = 1;
  }
  return link;
}

std::span<const FairRates::Use> FlowPaths::find(const Ends& ends) {
  path_.clear();
  const PathChoice choice = fabric_.config_of(fabric_.port(ends.by)).path_choice;
  if (choice == PathChoice::kSpray || choice == PathChoice::kAdaptive ||
      choice == PathChoice::kControlled) {
    divide(ends);
  } else {
    follow_hash(ends);
  }
  return path_;
}

void FlowPaths::use(FairRates::Number link, std::uint32_t weight) {
  const auto known = std::ranges::find(path_, link, &FairRates::Use::link);
  if (known == path_.end()) {
    path_.push_back({link, weight});
  } else {
    known->weight += weight;
  }
}

void FlowPaths::follow_hash(const Ends& ends) {
  PortId by = ends.by;
  for (std::uint32_t i = 0; i < kMostStages; ++i) {
    use(own_link(by), FairRates::kWhole);
    const NodeId next = fabric_.port(fabric_.port(by).peer).node;
    if (next == ends.to) return;
    by = fabric_.is_switch(next) ? fabric_.hashed_way(next, ends.to, ends.hash) : kNoPort;
    if (by == kNoPort) break;
  }
  path_.clear();
}

void FlowPaths::add_part(NodeId node, double share) {
  std::uint32_t& index = part_of_[node.value()];
  if (index == 0) {
    next_parts_.push_back({node, 0});
    index = static_cast<std::uint32_t>(next_parts_.size());
  }
  next_parts_[index - 1].share += share;
}

// Stage by stage from the sender: each switch divides what it gets over its ports.
void FlowPaths::divide(const Ends& ends) {
  use(own_link(ends.by), FairRates::kWhole);
  parts_.assign(1, {fabric_.port(fabric_.port(ends.by).peer).node, 1.0});
  for (std::uint32_t i = 0; i < kMostStages && !parts_.empty(); ++i) {
    next_parts_.clear();
    used_classes_ = 0;
    for (const Part& part : parts_) {
      if (fabric_.is_switch(part.node)) spread(part, ends.to);
    }
    for (const Part& part : next_parts_) part_of_[part.node.value()] = 0;
    std::erase_if(next_parts_, [&](const Part& part) { return part.node == ends.to; });
    use_classes();
    parts_.swap(next_parts_);
    if (path_.empty()) return;
  }
}

void FlowPaths::spread(const Part& part, NodeId to) {
  const auto ways = fabric_.routes().ways(part.node, to);
  const bool adaptive = !ways.empty() && fabric_.config_of(fabric_.port(ways[0])).path_choice ==
                                             PathChoice::kAdaptive;
  const auto usable = [&](PortId way) { return !adaptive || fabric_.port(way).up; };
  const auto count = std::ranges::count_if(ways, usable);
  if (count == 0) {
    path_.clear();
    return;
  }
  const double share = part.share / static_cast<double>(count);
  for (const PortId way : ways) {
    if (!usable(way)) continue;
    classify(way, share);
    add_part(fabric_.port(fabric_.port(way).peer).node, share);
  }
}

void FlowPaths::classify(PortId port, double share) {
  const FairRates::Number link = link_of_[port.value()];
  const std::int64_t capacity = capacity_of(port);
  const auto used = std::span{classes_}.first(used_classes_);
  const auto known = std::ranges::find_if(used, [&](const Class& one) {
    return one.link == link && one.share == share && one.capacity == capacity;
  });
  if (known != used.end()) return known->ports.push_back(port);
  if (used_classes_ == classes_.size()) classes_.emplace_back();
  Class& made = classes_[used_classes_++];
  made.link = link;
  made.share = share;
  made.capacity = capacity;
  made.ports.assign(1, port);
}

void FlowPaths::use_classes() {
  if (path_.empty()) return;
  for (const Class& ports : std::span{classes_}.first(used_classes_)) {
    const double all = ports.share * static_cast<double>(ports.ports.size()) *
                       static_cast<double>(FairRates::kWhole);
    use(claim(ports), static_cast<std::uint32_t>(std::lround(all)));
  }
}

// The link of exactly these ports. If they are some of the ports of a larger link, that link is
// divided.
FairRates::Number FlowPaths::claim(const Class& ports) {
  const auto count = static_cast<std::uint32_t>(ports.ports.size());
  if (ports.link != FairRates::kNone && ports_[ports.link] == count) return ports.link;
  const FairRates::Number made = rates_.add_link(ports.capacity * std::int64_t{count});
  if (ports.link != FairRates::kNone) {
    CHECK(ports_[ports.link] > count);
    divisions_.push_back({ports.link, made, count, ports_[ports.link]});
    ports_[ports.link] -= count;
    rates_.set_capacity(ports.link,
                        rates_.capacity(ports.link) - ports.capacity * std::int64_t{count});
    ++version_;
  }
  ports_.resize(made + 1);
  ports_[made] = count;
  for (const PortId port : ports.ports) link_of_[port.value()] = made;
  return made;
}

// Ports of a divided link that change differently get links of their own with the next path.
void FlowPaths::update_capacities() {
  std::vector<std::int64_t> capacity(rates_.links(), -1);
  for (std::uint32_t i = 0; i < link_of_.size(); ++i) {
    const FairRates::Number link = link_of_[i];
    if (link == FairRates::kNone) continue;
    capacity[link] = std::max<std::int64_t>(capacity[link], 0) + capacity_of(PortId{i});
  }
  for (FairRates::Number link = 0; link < capacity.size(); ++link) {
    if (capacity[link] >= 0) rates_.set_capacity(link, capacity[link]);
  }
  ++version_;
}

}  // namespace nerve::sim
