#include "sim/control/path_controller.h"

#include <algorithm>
#include <utility>

namespace nerve::sim {
namespace {

constexpr std::uint32_t kUnknown = UINT32_MAX;
constexpr std::uint32_t kLabels = 256;           // tried for each QP
constexpr std::uint32_t kMostCables = 64;        // the longest path
constexpr std::uint32_t kLabelsToJoin = 0x3fff;  // as many as there are source ports
constexpr std::uint32_t kRounds = 16;            // of improvement
constexpr std::uint32_t kSearches = 100'000;     // in one improvement, of all rounds together
// What a QP costs at 1 Mb/s. With 100 000 ports at 10 Gb/s, each used by 1000 QPs, unevenness() is
// a hundredth of what 64 bits hold.
constexpr std::uint64_t kCostUnit = 4'000'000'000;

std::uint64_t pair_of(const QpEnds& ends) {
  return std::uint64_t{ends.from.value()} << 32U | ends.to.value();
}

}  // namespace

PathController::PathController(const Fabric& fabric)
    : fabric_{fabric},
      ways_(fabric.ports().size()),
      loads_(fabric.ports().size()),
      index_(fabric.graph().nodes.size()) {
  (void)look_at_cables();
}

bool PathController::look_at_cables() {
  bool rates_changed = false;
  for (std::size_t i = 0; i < ways_.size(); ++i) {
    const Port& port = fabric_.ports()[i];
    const std::uint64_t rate = std::max<std::uint64_t>(port.rate.bits_per_second() / 1'000'000, 1);
    const Way before = std::exchange(
        ways_[i], {.next = fabric_.ports()[port.peer.value()].node,
                   .unit = static_cast<std::uint32_t>(std::max<std::uint64_t>(kCostUnit / rate, 1)),
                   .to_switch = port.to_switch,
                   .up = port.up});
    rates_changed |= before.unit != ways_[i].unit;
  }
  return rates_changed;
}

void PathController::introduce(const QpEnds& ends, QpNumber qp) {
  std::vector<std::uint32_t>& of_nic = index_[ends.from.value()];
  if (of_nic.size() <= qp.value()) of_nic.resize(qp.value() + 1, kUnknown);
  of_nic[qp.value()] = static_cast<std::uint32_t>(flows_.size());
  flows_.push_back({.ends = ends, .qp = qp});
}

PathController::Flow* PathController::find(NodeId nic, QpNumber qp) {
  const std::vector<std::uint32_t>& of_nic = index_[nic.value()];
  const bool known = qp.value() < of_nic.size() && of_nic[qp.value()] != kUnknown;
  return known ? &flows_[of_nic[qp.value()]] : nullptr;
}

std::optional<std::uint32_t> PathController::admit(NodeId nic, QpNumber qp) {
  Flow* const flow = find(nic, qp);
  if (flow == nullptr || flow->sends) return std::nullopt;
  flow->sends = true;
  ++sending_;
  ++news_;
  const std::uint32_t leader = leader_of(*flow);
  if (leader != kNobody && follow(flows_[leader]) && may_lead(flows_[leader]) &&
      join_leader(*flow)) {
    flow->leader = leader;
    return flow->label;
  }
  choose(*flow);
  count(*flow);
  if (leader == kNobody) {
    leaders_.insert_or_assign(pair_of(flow->ends),
                              static_cast<std::uint32_t>(flow - flows_.data()));
  }
  return flow->label;
}

void PathController::release(NodeId nic, QpNumber qp) {
  Flow* const flow = find(nic, qp);
  if (flow == nullptr || !flow->sends) return;
  flow->sends = false;
  --sending_;
  if (std::exchange(flow->leader, kNobody) != kNobody) return;
  uncount(*flow);
  leave_followers(static_cast<std::uint32_t>(flow - flows_.data()));
}

std::uint32_t PathController::leader_of(const Flow& flow) const {
  const auto found = leaders_.find(pair_of(flow.ends));
  return found == leaders_.end() ? kNobody : found->second;
}

// The first follower leads the others.
void PathController::leave_followers(std::uint32_t leader) {
  const Flow& left = flows_[leader];
  if (leader_of(left) != leader) return;
  std::uint32_t next = kNobody;
  for (const std::uint32_t number : index_[left.ends.from.value()]) {
    if (number == kUnknown || flows_[number].leader != leader) continue;
    flows_[number].leader = next;
    if (next != kNobody) continue;
    next = number;
    count(flows_[number]);
  }
  if (next == kNobody) {
    leaders_.erase(pair_of(left.ends));
  } else {
    leaders_.insert_or_assign(pair_of(left.ends), next);
  }
}

bool PathController::may_lead(const Flow& flow) const {
  const PortId nic = fabric_.nic_port(flow.ends.from, flow.ends.to, flow.ends.theirs);
  return std::ranges::all_of(path_, [&](PortId port) { return way(port).unit <= way(nic).unit; });
}

bool PathController::join_leader(Flow& flow) {
  const NodeId leaf = way(fabric_.nic_port(flow.ends.from, flow.ends.to, flow.ends.theirs)).next;
  if (!path_.empty() && fabric_.ports()[path_[0].value()].node != leaf) return false;
  const auto leads_there = [&](std::uint32_t label) {
    const std::uint32_t hash = flow.ends.hash(label);
    NodeId at = leaf;
    return std::ranges::all_of(path_, [&](PortId port) {
      return fabric_.hashed_way(std::exchange(at, way(port).next), flow.ends.to, hash) == port;
    });
  };
  if (leads_there(flow.label)) return true;
  for (std::uint32_t label = 1; label <= kLabelsToJoin; ++label) {
    if (!leads_there(label)) continue;
    flow.label = label;
    return true;
  }
  return false;
}

void PathController::bring_followers() {
  for (Flow& flow : flows_) {
    if (flow.leader == kNobody) continue;
    const Flow& leader = flows_[flow.leader];
    if (follow(leader) && may_lead(leader) && join_leader(flow)) continue;
    flow.leader = kNobody;
    choose(flow);
    count(flow);
  }
}

bool PathController::follow(const Flow& flow, std::uint32_t label, Cost limit) {
  const std::uint32_t hash = flow.ends.hash(label);
  path_.clear();
  cost_ = {};
  PortId by = fabric_.nic_port(flow.ends.from, flow.ends.to, flow.ends.theirs);
  for (std::uint32_t cables = 0; cables < kMostCables; ++cables) {
    const Way& here = way(by);
    if (!here.up) return false;
    if (here.next == flow.ends.to) return true;
    if (!here.to_switch) return false;
    if (cables > 0) {
      const std::uint64_t cost = cost_of(by);
      cost_ = {std::max(cost_.most, cost), cost_.sum + cost};
      if (cost_.most > limit.most || cost_.sum > limit.sum) return false;
      path_.push_back(by);
    }
    by = fabric_.hashed_way(here.next, flow.ends.to, hash);
    if (by == kNoPort) return false;
  }
  return false;
}

// Of one more QP. The sum of these over a path is the change of unevenness().
std::uint64_t PathController::cost_of(PortId port) const {
  return (2 * std::uint64_t{loads_[port.value()]} + 1) * way(port).unit;
}

std::uint64_t PathController::least_cost(const Flow& flow) const {
  const NodeId leaf = way(fabric_.nic_port(flow.ends.from, flow.ends.to, flow.ends.theirs)).next;
  if (leaf == flow.ends.to) return 0;
  std::uint64_t least = UINT64_MAX;
  for (const PortId port : fabric_.routes().ways(leaf, flow.ends.to)) {
    // The last cable is the same on all paths.
    const bool last = way(port).next == flow.ends.to;
    if (way(port).up) least = std::min(least, last ? 0 : cost_of(port));
  }
  return least;
}

void PathController::choose(Flow& flow) {
  const std::uint64_t least = least_cost(flow);
  const std::uint32_t present = flow.label;
  Cost best = kNoLimit;
  for (std::uint32_t i = 0; i <= kLabels; ++i) {
    const std::uint32_t label = i == 0 ? present : i;
    if (!follow(flow, label, {best.most, UINT64_MAX}) || cost_ >= best) continue;
    best = cost_;
    flow.label = label;
    if (best.most <= least && best.sum <= least * path_.size()) return;  // no path is better
  }
}

void PathController::try_another(Flow& flow) {
  const std::uint32_t present = flow.label;
  Cost best = follow(flow) ? cost_ : kNoLimit;
  const auto offset = static_cast<std::uint32_t>(prng_.below(kLabels));
  for (std::uint32_t i = 0; i < kLabels; ++i) {
    const std::uint32_t label = 1 + (i + offset) % kLabels;
    if (label == present || !follow(flow, label, {UINT64_MAX, best.sum})) continue;
    // An equal one replaces the present one, which may make room for another flow.
    if (cost_.sum == best.sum && flow.label != present) continue;
    best = cost_;
    flow.label = label;
  }
}

void PathController::count(const Flow& flow) {
  if (!follow(flow)) return;
  for (const PortId port : path_) ++loads_[port.value()];
}

void PathController::uncount(const Flow& flow) {
  if (!follow(flow)) return;
  for (const PortId port : path_) {
    // It was counted on another path if its NIC has changed the port since; cables_changed() will
    // count again.
    if (loads_[port.value()] > 0) --loads_[port.value()];
  }
}

void PathController::count_all() {
  std::ranges::fill(loads_, 0U);
  for (const Flow& flow : flows_) {
    if (flow.counts()) count(flow);
  }
}

std::uint64_t PathController::unevenness() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    sum += std::uint64_t{loads_[i]} * loads_[i] * ways_[i].unit;
  }
  return sum;
}

std::vector<PathController::Order> PathController::improve() {
  news_ = 0;
  const std::vector<std::uint32_t> before = labels();
  const std::uint64_t uneven = unevenness();
  bool content = false;
  std::uint32_t searches = 0;
  for (std::uint32_t round = 0; round < kRounds && !content; ++round) {
    content = true;
    for (Flow& flow : flows_) {
      if (!flow.counts()) continue;
      uncount(flow);
      if (follow(flow) && cost_.most > least_cost(flow) && searches++ < kSearches) {
        content = false;
        try_another(flow);
      }
      count(flow);
    }
  }
  if (unevenness() < uneven) {
    bring_followers();
    return changes_since(before);
  }
  for (std::size_t i = 0; i < flows_.size(); ++i) flows_[i].label = before[i];
  count_all();
  return {};
}

std::vector<PathController::Order> PathController::cables_changed() {
  const bool rates_changed = look_at_cables();
  count_all();
  const std::vector<std::uint32_t> before = labels();
  for (Flow& flow : flows_) {
    if (flow.leader != kNobody || follow(flow)) continue;
    choose(flow);
    if (flow.sends) count(flow);
  }
  bring_followers();
  if (rates_changed) (void)improve();
  return changes_since(before);
}

std::vector<PathController::Order> PathController::routes_changed() {
  const std::vector<std::uint32_t> before = labels();
  std::ranges::fill(loads_, 0U);
  for (Flow& flow : flows_) {
    if (!flow.counts()) continue;
    choose(flow);
    count(flow);
  }
  bring_followers();
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
  std::size_t bytes = ways_.capacity() * sizeof(Way) + loads_.capacity() * sizeof(loads_[0]) +
                      flows_.capacity() * sizeof(Flow) +
                      index_.capacity() * sizeof(std::vector<std::uint32_t>);
  // A node of a hash table has a pointer and its place in a bucket besides its value.
  bytes += leaders_.size() * (sizeof *leaders_.begin() + 2 * sizeof(void*));
  for (const auto& of_nic : index_) bytes += of_nic.capacity() * sizeof(std::uint32_t);
  return bytes;
}

}  // namespace nerve::sim
