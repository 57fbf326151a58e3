#include "sim/control/path_controller.h"

#include <algorithm>
#include <utility>

namespace nerve::sim {
namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;
constexpr std::uint32_t kLabels = 256;     // tried for each QP
constexpr std::uint32_t kMostCables = 64;  // the longest path
constexpr std::uint32_t kRounds = 16;      // of improvement
constexpr std::uint64_t kCostUnit = 1'000'000'000'000;
constexpr std::uint64_t kImpossible = UINT64_MAX;

}  // namespace

PathController::PathController(const Fabric& fabric)
    : fabric_{fabric}, loads_(fabric.ports().size()), index_(fabric.graph().nodes.size()) {}

void PathController::introduce(const QpEnds& ends, QpNumber qp) {
  std::vector<std::uint32_t>& of_nic = index_[ends.from.value()];
  if (of_nic.size() <= qp.value()) of_nic.resize(qp.value() + 1, kUnknown);
  of_nic[qp.value()] = static_cast<std::uint32_t>(flows_.size());
  flows_.push_back({ends, qp, 0, false});
}

PathController::Flow* PathController::find(NodeId nic, QpNumber qp) {
  const std::vector<std::uint32_t>& of_nic = index_[nic.value()];
  const bool known = qp.value() < of_nic.size() && of_nic[qp.value()] != kUnknown;
  return known ? &flows_[of_nic[qp.value()]] : nullptr;
}

std::optional<std::uint32_t> PathController::admit(NodeId nic, QpNumber qp) {
  Flow* const flow = find(nic, qp);
  if (flow == nullptr || flow->sends) return std::nullopt;
  choose(*flow);
  flow->sends = true;
  count(*flow);
  ++sending_;
  ++news_;
  return flow->label;
}

void PathController::release(NodeId nic, QpNumber qp) {
  Flow* const flow = find(nic, qp);
  if (flow == nullptr || !flow->sends) return;
  uncount(*flow);
  flow->sends = false;
  --sending_;
}

bool PathController::follow(const Flow& flow, std::uint32_t label, Path& path) const {
  const std::uint32_t hash = flow.ends.hash(label);
  path.clear();
  PortId by = fabric_.nic_port(flow.ends.from, flow.ends.to, flow.ends.theirs);
  for (std::uint32_t cables = 0; cables < kMostCables; ++cables) {
    const Port& port = fabric_.ports()[by.value()];
    if (!port.up) return false;
    const NodeId next = fabric_.ports()[port.peer.value()].node;
    if (next == flow.ends.to) return true;
    if (!port.to_switch) return false;
    if (cables > 0) path.push_back(by);
    by = fabric_.hashed_way(next, flow.ends.to, hash);
    if (by == kNoPort) return false;
  }
  return false;
}

// Of one more QP. The sum of these over a path is the change of unevenness().
std::uint64_t PathController::cost_of(PortId port) const {
  const std::uint64_t rate = fabric_.ports()[port.value()].rate.bits_per_second() / 1'000'000;
  return (2 * std::uint64_t{loads_[port.value()]} + 1) *
         (kCostUnit / std::max(rate, std::uint64_t{1}));
}

PathController::Cost PathController::cost_of(const Path& path) const {
  Cost cost;
  for (const PortId port : path) {
    const std::uint64_t here = cost_of(port);
    cost.most = std::max(cost.most, here);
    cost.sum += here;
  }
  return cost;
}

std::uint64_t PathController::least_cost(const Flow& flow) const {
  const PortId by = fabric_.nic_port(flow.ends.from, flow.ends.to, flow.ends.theirs);
  const NodeId leaf = fabric_.ports()[fabric_.ports()[by.value()].peer.value()].node;
  if (leaf == flow.ends.to) return 0;
  std::uint64_t least = kImpossible;
  for (const PortId way : fabric_.routes().ways(leaf, flow.ends.to)) {
    const Port& port = fabric_.ports()[way.value()];
    // The last cable is the same on all paths.
    const bool last = fabric_.ports()[port.peer.value()].node == flow.ends.to;
    if (port.up) least = std::min(least, last ? 0 : cost_of(way));
  }
  return least;
}

void PathController::choose(Flow& flow) {
  const std::uint64_t least = least_cost(flow);
  const std::uint32_t present = flow.label;
  Cost best{kImpossible, kImpossible};
  for (std::uint32_t i = 0; i <= kLabels; ++i) {
    const std::uint32_t label = i == 0 ? present : i;
    if (!follow(flow, label, path_)) continue;
    const Cost cost = cost_of(path_);
    if (cost >= best) continue;
    best = cost;
    flow.label = label;
    if (cost.most <= least && cost.sum <= least * path_.size()) return;  // no path is better
  }
}

void PathController::try_another(Flow& flow) {
  const std::uint32_t present = flow.label;
  Cost best = follow(flow, present, path_) ? cost_of(path_) : Cost{kImpossible, kImpossible};
  const auto offset = static_cast<std::uint32_t>(prng_.below(kLabels));
  for (std::uint32_t i = 0; i < kLabels; ++i) {
    const std::uint32_t label = 1 + (i + offset) % kLabels;
    if (label == present || !follow(flow, label, path_)) continue;
    const Cost cost = cost_of(path_);
    // An equal one replaces the present one, which may make room for another flow.
    if (cost.sum > best.sum || (cost.sum == best.sum && flow.label != present)) continue;
    best = cost;
    flow.label = label;
  }
}

void PathController::count(const Flow& flow) {
  if (!follow(flow, flow.label, path_)) return;
  for (const PortId port : path_) ++loads_[port.value()];
}

// A cable may have come back that it was not counted on; cables_changed() will count again.
void PathController::uncount(const Flow& flow) {
  if (!follow(flow, flow.label, path_)) return;
  for (const PortId port : path_) {
    if (loads_[port.value()] > 0) --loads_[port.value()];
  }
}

void PathController::count_all() {
  std::ranges::fill(loads_, 0U);
  for (const Flow& flow : flows_) {
    if (flow.sends) count(flow);
  }
}

std::uint64_t PathController::unevenness() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < loads_.size(); ++i) {
    const std::uint64_t rate = fabric_.ports()[i].rate.bits_per_second() / 1'000'000;
    sum += std::uint64_t{loads_[i]} * loads_[i] * (kCostUnit / std::max(rate, std::uint64_t{1}));
  }
  return sum;
}

std::vector<PathController::Order> PathController::improve() {
  news_ = 0;
  const std::vector<std::uint32_t> before = labels();
  const std::uint64_t uneven = unevenness();
  bool content = false;
  for (std::uint32_t round = 0; round < kRounds && !content; ++round) {
    content = true;
    for (Flow& flow : flows_) {
      if (!flow.sends) continue;
      uncount(flow);
      if (follow(flow, flow.label, path_) && cost_of(path_).most > least_cost(flow)) {
        content = false;
        try_another(flow);
      }
      count(flow);
    }
  }
  if (unevenness() < uneven) return changes_since(before);
  for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i].label = before[i];
  count_all();
  return {};
}

std::vector<PathController::Order> PathController::cables_changed() {
  count_all();
  const std::vector<std::uint32_t> before = labels();
  for (Flow& flow : flows_) {
    if (follow(flow, flow.label, path_)) continue;
    choose(flow);
    if (flow.sends) count(flow);
  }
  return changes_since(before);
}

std::vector<PathController::Order> PathController::routes_changed() {
  const std::vector<std::uint32_t> before = labels();
  std::ranges::fill(loads_, 0U);
  for (Flow& flow : flows_) {
    if (!flow.sends) continue;
    choose(flow);
    count(flow);
  }
  (void)improve();
  return changes_since(before);
}

std::vector<std::uint32_t> PathController::labels() const {
  std::vector<std::uint32_t> all;
  all.reserve(flows_.size());
  for (const Flow& flow : flows_) all.push_back(flow.label);
  return all;
}

std::vector<PathController::Order> PathController::changes_since(
    const std::vector<std::uint32_t>& labels) const {
  std::vector<Order> orders;
  for (std::size_t i = 0; i < flows_.size(); ++i) {
    const Flow& flow = flows_[i];
    if (flow.label != labels[i]) orders.push_back({flow.ends.from, flow.qp, flow.label});
  }
  return orders;
}

std::size_t PathController::memory_bytes() const {
  std::size_t bytes = loads_.capacity() * sizeof(std::uint32_t) + flows_.capacity() * sizeof(Flow) +
                      index_.capacity() * sizeof(index_[0]);
  for (const auto& of_nic : index_) bytes += of_nic.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace nerve::sim
