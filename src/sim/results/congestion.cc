#include "sim/results/congestion.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "sim/results/fabric_result.h"

namespace nerve::sim {
namespace {

constexpr double kFull = 0.9;          // a cable that is this busy has no room
constexpr double kBusy = 0.95;         // a NIC that is this busy is its own limit
constexpr std::uint32_t kPackets = 4;  // a shorter queue may be two packets that met

// Cables that one could have been balanced with. Traffic that goes up may use any cable of its
// switch to the tier above; traffic that comes down was led there by the choice of a switch above
// it. Within a tier only parallel cables are alike.
using Beside = std::tuple<int, std::uint32_t, std::uint32_t>;

Beside set_of(std::span<const NodeResult> nodes, const LinkResult& link) {
  const std::uint16_t from = nodes[link.from].tier;
  const std::uint16_t to = nodes[link.to].tier;
  if (to > from) return {0, link.from, to};
  if (to < from) return {1, link.to, from};
  return {2, link.from, link.to};
}

}  // namespace

Congestion::Congestion(Simulation& simulation, std::span<const NodeResult> nodes,
                       std::span<const LinkResult> links, Duration every, std::size_t most_samples)
    : simulation_{simulation},
      links_{links},
      beside_(links.size(), kNever),
      index_(links.size(), kNever),
      nics_(nodes.size()),
      longest_(nodes.size(), kNever),
      samples_{std::vector<Merge>(kColumns, Merge::kSum), every, most_samples} {
  std::map<Beside, std::uint32_t> sets;
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (!nodes[links[i].from].is_switch || !nodes[links[i].to].is_switch) continue;
    const auto [set, is_new] =
        sets.try_emplace(set_of(nodes, links[i]), static_cast<std::uint32_t>(members_.size()));
    if (is_new) members_.push_back(0);
    beside_[i] = set->second;
    ++members_[set->second];
  }
  shares_.resize(members_.size());
}

void Congestion::begin(Duration since) {
  since_ = since;
  row_.fill(0);
  std::ranges::fill(shares_, 0.0);
  congested_.clear();
  paused_.clear();
  for (const std::uint32_t one : with_queues_) longest_[one] = kNever;
  with_queues_.clear();
}

void Congestion::add(Column column, Duration time) {
  row_[column] = std::max(row_[column], static_cast<std::uint64_t>(time.count()));
}

// Packets wait for the other end of the cable, and not for the cable.
bool Congestion::is_stopped(const Port& port) const {
  if ((port.paused & port.waiting) != 0) return true;
  if (!has_credits(port.kind)) return false;
  const std::uint32_t packet = simulation_.fabric().config_of(port).longest_packet;
  for (unsigned one = 0; one < kClasses; ++one) {
    if ((port.waiting >> one & 1U) != 0 && port.credits[one] < packet) return true;
  }
  return false;
}

bool Congestion::has_queue(std::uint32_t number, const Port& port, double share) const {
  if (FlowNetwork* const flows = simulation_.flows()) {
    if (share < kBusy) return false;
    const FairRates::Number link = flows->paths().link_of(PortId{number});
    return link != FairRates::kNone && flows->rates().was_shared(link);
  }
  if (port.queued > kPackets * simulation_.fabric().config_of(port).longest_packet) return true;
  return hints_.short_queues && share >= kFull;
}

void Congestion::look(std::uint32_t number, double share) {
  const Port& port = simulation_.fabric().port(PortId{number});
  if (!port.up) add(kCableDown, since_);
  if (hints_.faults && port.rate.bits_per_second() < links_[number].rate_bps) {
    const double now = share * static_cast<double>(links_[number].rate_bps) /
                       static_cast<double>(port.rate.bits_per_second());
    if (now >= kFull) add(kSlowCable, since_);
  }
  if (port.switch_number == kNobody) return look_at_nic(number, port, share);
  if (port.paused != 0 || (has_credits(port.kind) && is_stopped(port))) {
    paused_.push_back(number);
  }
  if (beside_[number] != kNever) shares_[beside_[number]] += share;
  if (port.queued > 0) {
    std::uint32_t& longest = longest_[port.node.value()];
    if (longest == kNever) with_queues_.push_back(port.node.value());
    if (longest == kNever || port.queued > simulation_.fabric().port(PortId{longest}).queued) {
      longest = number;
    }
  }
  if (!has_queue(number, port, share)) return;
  if (is_stopped(port)) {
    add(kPaused, since_);
  } else {
    congested_.push_back(number);
  }
}

void Congestion::look_at_nic(std::uint32_t number, const Port& port, double share) {
  NicSeen& nic = nics_[port.node.value()];
  nic.share += share;
  ++nic.ports;
  nic.paused_now += paused_time_ps(port, simulation_.now());
  if (has_credits(port.kind) && is_stopped(port)) add(kPaused, since_);
  if (port.paused != 0) paused_.push_back(number);
  if (share >= kBusy) add(kBusyNics, since_);
}

Congestion::PortSeen& Congestion::entry_of(std::uint32_t port) {
  if (index_[port] == kNever) {
    index_[port] = static_cast<std::uint32_t>(seen_.size());
    seen_.push_back({.port = port});
  }
  return seen_[index_[port]];
}

// Only when the queue is twice as long as at the last time: it reads packets.
void Congestion::count_flows(std::uint32_t number, PortSeen& seen) {
  if (simulation_.flows() != nullptr) {
    const FairRates& rates = simulation_.flows()->rates();
    seen.flows = rates.most_flows(simulation_.flows()->paths().link_of(PortId{number}));
    return;
  }
  if (!simulation_.has(PortId{number})) return;  // share_flows() will know
  const std::uint32_t queued = simulation_.fabric().port(PortId{number}).queued;
  if (queued / 2 < seen.most) return;
  seen.most = queued;
  seen.flows = std::max(seen.flows, simulation_.fabric().flows_queued(PortId{number}));
}

// Each rank counts the flows in the queues of its ports, and judges these ports as rank zero does.
void Congestion::share_flows() {
  Border* const border = simulation_.border();
  if (border == nullptr) return;
  Packed mine;
  Packer to{mine};
  for (const PortSeen& one : seen_) {
    if (border->is_first_rank() || !simulation_.has(PortId{one.port})) continue;
    to.put(one.port);
    to.put(one.flows);
    to.put(one.most);
  }
  std::vector<Packed> all(border->ranks());
  if (!border->gather(mine, all)) return;
  for (const Packed& one : all) {
    for (Unpacker from{one}; !from.at_end() && from.intact();) {
      const auto port = from.take<std::uint32_t>();
      const auto flows = from.take<std::uint32_t>();
      const auto longest = from.take<std::uint32_t>();
      if (port >= index_.size() || index_[port] == kNever) continue;
      entry_of(port).flows = flows;
      entry_of(port).most = longest;
    }
  }
}

void Congestion::judge(std::uint32_t number) {
  PortSeen& seen = entry_of(number);
  count_flows(number, seen);
  if (beside_[number] == kNever) {
    seen.incast += since_;
    return add(kIncast, since_);
  }
  const std::uint32_t set = beside_[number];
  const double used = shares_[set] / members_[set];
  if (used >= kFull || members_[set] == 1) {
    seen.crowded += since_;
    return add(kTooFewCables, since_);
  }
  seen.collided += since_;
  seen.unused += (1 - used) * static_cast<double>(since_.count());
  add(kCollisions, since_);
}

// The port that a paused one waits for in the end, if that is at the other end of its cable; kNever
// if the switch there passes on a pause that it has received itself.
std::uint32_t Congestion::root_of(std::uint32_t paused) const {
  Fabric& fabric = simulation_.fabric();
  const PortId there = fabric.port(PortId{paused}).peer;
  const NodeId node = fabric.port(there).node;
  if (!fabric.is_switch(node)) return there.value();
  const std::uint32_t longest = longest_[node.value()];
  if (longest == kNever || is_stopped(fabric.port(PortId{longest}))) return kNever;
  return longest;
}

void Congestion::find_roots() {
  std::vector<std::uint32_t> roots;
  for (const std::uint32_t paused : paused_) {
    const std::uint32_t root = root_of(paused);
    if (root != kNever) roots.push_back(root);
  }
  std::ranges::sort(roots);
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  for (const std::uint32_t root : roots) entry_of(root).root += since_;
  if (!paused_.empty() && roots.empty()) circular_ += since_;
}

// A timeout ends a wait that began before this sample.
void Congestion::add_losses(const NicSums& sums) {
  Duration time = std::min(sums.resent, since_);
  if (sums.timeout > Duration{}) {
    const Time now = simulation_.now();
    time = std::max(time, std::min(sums.timeout, now - losses_until_));
    losses_until_ = now;
  }
  add(kLosses, time);
}

// What its counters say since the last sample.
void Congestion::add_nic(NodeId node, NicSeen& seen, NicSums& sums) {
  add(kPaused, Duration{static_cast<std::int64_t>((seen.paused_now - seen.paused) / seen.ports)});
  const double share = seen.share / seen.ports;
  seen.paused = std::exchange(seen.paused_now, 0);
  seen.share = 0;
  seen.ports = 0;
  const std::optional<NicFigures> nic = simulation_.find_figures(node);
  const TcpNic* const tcp = simulation_.find_tcp_nic(node);
  if (!nic && tcp == nullptr) return;
  const std::uint64_t retransmitted = nic ? nic->retransmitted : tcp->counters().retransmitted;
  const std::uint64_t timeouts = nic ? nic->timeouts : tcp->counters().timeouts;
  if (retransmitted != seen.retransmitted) {
    Fabric& fabric = simulation_.fabric();
    const Port& port = fabric.port(fabric.first_port(node));
    const auto packets = static_cast<std::int64_t>(retransmitted - seen.retransmitted);
    sums.resent =
        std::max(sums.resent, port.line.time_of(fabric.config_of(port).longest_packet) * packets);
  }
  if (timeouts != seen.timeouts) {
    sums.timeout = std::max(sums.timeout, nic ? nic->timeout : tcp->timeout());
  }
  seen.retransmitted = retransmitted;
  seen.timeouts = timeouts;
  const bool works = nic && nic->outstanding > 0;
  if (std::exchange(seen.has_work, works) && works) {
    sums.idle += 1 - share;
    ++sums.working;
  }
}

void Congestion::add_nics() {
  NicSums sums;
  for (std::uint32_t i = 0; i < nics_.size(); ++i) {
    if (nics_[i].ports > 0) add_nic(NodeId{i}, nics_[i], sums);
  }
  add_losses(sums);
  const bool other = std::ranges::any_of(std::span{row_}.first(kHeldBack),
                                         [](std::uint64_t time) { return time > 0; });
  if (!hints_.rate_control || other || sums.working == 0) return;
  const double time = static_cast<double>(since_.count()) * sums.idle / sums.working;
  add(kHeldBack, Duration{static_cast<std::int64_t>(time)});
}

void Congestion::end(bool last) {
  for (const std::uint32_t port : congested_) judge(port);
  if (!paused_.empty()) find_roots();
  add_nics();
  row_[kAnything] = *std::ranges::max_element(std::span{row_}.first(kBusyNics));
  std::ranges::copy(row_, samples_.add().begin());
  if (!last) samples_.settle();
}

Duration Congestion::seen(Column column, Time from, Time to) const {
  const std::uint64_t every = static_cast<std::uint64_t>(samples_.every().count());
  const std::size_t first = static_cast<std::size_t>(from.picoseconds() / every);
  const std::size_t end = std::min<std::size_t>(samples_.size(), to.picoseconds() / every + 1);
  std::uint64_t sum = 0;
  for (std::size_t row = first; row < end; ++row) sum += samples_.at(row, column);
  const std::uint64_t most = to > from ? static_cast<std::uint64_t>((to - from).count()) : 0;
  return Duration{static_cast<std::int64_t>(std::min(sum, most))};
}

}  // namespace nerve::sim
