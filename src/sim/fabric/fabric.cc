#include "sim/fabric/fabric.h"

#include <algorithm>

namespace nerve::sim {
namespace {

constexpr std::uint32_t kEthernetGap = 20;  // preamble, start-of-frame delimiter, inter-packet gap
constexpr std::uint32_t kPauseFrame = 64;

// Arguments of pause and credit events. A frame in flight when the cable failed is recognised by
// its generation, of which the low bits are enough.
constexpr std::uint32_t kPauseGenerations = 1U << 28;
constexpr std::uint32_t kCreditGenerations = 1U << 12;
static_assert(kClasses == 4);

constexpr std::uint32_t pause_word(std::uint32_t generation, unsigned traffic_class, bool stop) {
  return generation % kPauseGenerations << 4U | traffic_class * 2 | (stop ? 1U : 0U);
}
constexpr std::uint32_t credit_word(std::uint32_t generation, unsigned traffic_class,
                                    std::uint32_t bytes) {
  return generation % kCreditGenerations << 20U | traffic_class << 18U | bytes;
}

// The egress port, where it depends on the packet alone; kNoPort where it depends on state.
PortId port_by_hash(std::span<const PortId> ways, PathChoice choice, std::uint32_t salt,
                    const Packet& packet) {
  if (ways.empty()) return kNoPort;
  if (ways.size() == 1) return ways[0];
  if (!is_by_hash(choice)) return kNoPort;
  return ways[mix(packet.flow_hash, salt) % ways.size()];
}

std::uint32_t gap_of(LinkKind kind) { return is_ethernet(kind) ? kEthernetGap : 0; }

}  // namespace

// The bytes that may arrive between the packet that reaches the threshold and the pause taking
// effect: a round trip of the cable, the switch latency (bytes not yet accounted), a packet begun
// at each end, and the pause frame itself.
std::uint32_t headroom_of(const FabricConfig& config, Rate rate, Duration delay) {
  const Line line{rate};
  const std::int64_t round_trip =
      2 * delay.count() + config.switch_latency.count() + line.time_of(kPauseFrame).count();
  const std::int64_t per_kilo = line.time_of(1000).count();
  const std::int64_t bytes = round_trip / per_kilo * 1000 + round_trip % per_kilo * 1000 / per_kilo;
  constexpr std::int64_t kMost = 0x7fff'ffff;
  return static_cast<std::uint32_t>(std::min(bytes, kMost)) + 3 * config.longest_packet;
}

std::uint8_t lossless_between_groups(const FabricConfig& config) {
  const std::uint8_t lossless = config.buffer.lossless;
  if ((lossless >> kDataClass & 1U) == 0) return lossless;
  const unsigned twice = config.path_choice == PathChoice::kValiant ? 1U << kTwiceLiftedClass : 0;
  return static_cast<std::uint8_t>(lossless | 1U << kLiftedClass | twice);
}

Fabric::Fabric(std::uint64_t seed, const Graph& graph, std::vector<FabricConfig> networks)
    : prng_{seed}, graph_{graph}, networks_{std::move(networks)}, routes_{graph} {
  for (const Cable& cable : graph.cables) {
    if (!cable.between_groups) continue;
    FabricConfig& network = networks_[graph.nodes[cable.a.value()].network];
    network.buffer.lossless = lossless_between_groups(network);
  }
  if (std::ranges::count(networks_, PathChoice::kValiant, &FabricConfig::path_choice) > 0) {
    detours_ = Detours{graph};
  }
  build_ports();
  set_marking_thresholds();
  if (std::ranges::any_of(networks_,
                          [](const FabricConfig& one) { return one.pfc_watchdog > Duration{}; })) {
    paused_at_.resize(ports_.size());
  }
  build_switches();
}

void Fabric::divide(std::span<const std::uint16_t> part_of_node,
                    std::span<FabricPart* const> parts) {
  parts_.assign(parts.begin(), parts.end());
  for (Port& port : ports_) {
    port.part = part_of_node[port.node.value()];
    port.peer_part = part_of_node[ports_[port.peer.value()].node.value()];
  }
  if (std::ranges::none_of(networks_, &FabricConfig::telemetry)) return;
  for (FabricPart* const part : parts_) {
    if (part != nullptr) part->clockwork.packets.keep_trails();
  }
}

void Fabric::leave_part(const Port& port, Time when, Happening kind, std::uint32_t argument) {
  FabricPart& here = *parts_[port.part];
  Outbox& outbox = here.leaving[port.peer_part];
  here.next_elsewhere = std::min(here.next_elsewhere, when);
  if (kind != Happening::kArrive) return outbox.add(when, kind, port.peer.value(), argument);
  outbox.add_packet(when, port.peer.value(), here.clockwork, PacketId{argument});
}

std::uint32_t Fabric::gap(const Port& port) { return gap_of(port.kind); }

void Fabric::build_ports() {
  ports_.resize(graph_.ports());
  ports_by_node_.resize(graph_.ports());
  first_of_.resize(graph_.nodes.size() + 1);
  for (std::uint32_t i = 0; i < ports_.size(); ++i) {
    ++first_of_[graph_.node_at(PortId{i}).value() + 1];
  }
  for (std::size_t i = 1; i < first_of_.size(); ++i) first_of_[i] += first_of_[i - 1];
  std::vector<std::uint32_t> counts(graph_.nodes.size());
  for (std::uint32_t i = 0; i < ports_.size(); ++i) {
    const Cable& cable = graph_.cables[i / 2];
    Port& port = ports_[i];
    port.node = graph_.node_at(PortId{i});
    port.peer = Graph::other_end(PortId{i});
    port.line = Line{cable.rate};
    port.rate = cable.rate;
    port.delay = cable.delay;
    port.network = graph_.nodes[port.node.value()].network;
    CHECK(port.network < networks_.size());
    port.kind = cable.kind.value_or(config_of(port).kind);
    port.lifts = port.special = cable.between_groups;
    port.lifts_twice = config_of(port).path_choice == PathChoice::kValiant;
    port.credits.fill(config_of(port).lane_buffer);
    port.local = counts[port.node.value()]++;
    ports_by_node_[first_of_[port.node.value()] + port.local] = PortId{i};
    port.to_switch = graph_.nodes[graph_.node_at(port.peer).value()].kind == NodeKind::kSwitch;
  }
}

// `low` of a network becomes the lowest of its ports: few queues are longer, so few packets need
// the thresholds of their port.
void Fabric::set_marking_thresholds() {
  std::vector<std::uint64_t> lowest(networks_.size(), UINT64_MAX);
  for (Port& port : ports_) {
    port.marking = thresholds_of(config_of(port).marking, port.rate);
    lowest[port.network] = std::min(lowest[port.network], port.marking.low);
  }
  for (std::size_t i = 0; i < networks_.size(); ++i) networks_[i].marking.low = lowest[i];
}

void Fabric::build_switches() {
  switch_of_.assign(graph_.nodes.size(), kNobody);
  std::vector<std::vector<std::uint32_t>> headroom(graph_.nodes.size());
  for (const Port& port : ports_) {
    headroom[port.node.value()].push_back(headroom_of(config_of(port), port.rate, port.delay));
  }
  for (std::uint32_t i = 0; i < graph_.nodes.size(); ++i) {
    if (graph_.nodes[i].kind != NodeKind::kSwitch) continue;
    switch_of_[i] = static_cast<std::uint32_t>(switches_.size());
    const FabricConfig& config = networks_[graph_.nodes[i].network];
    const auto salt = static_cast<std::uint32_t>(prng_.next());
    switches_.push_back(
        {SharedBuffer{config.buffer, headroom[i]},
         FlowletTable{config.flowlet_gap, config.path_choice == PathChoice::kFlowlet},
         config.hash_alike ? 0 : salt, 0, Prng{0}});
  }
  for (Switch& one : switches_) one.prng = Prng{prng_.next()};
  for (Port& port : ports_) {
    port.switch_number = switch_of_[port.node.value()];
    port.prng = Prng{prng_.next()};
  }
}

void Fabric::send(PortId from, PacketId packet) {
  clock(ports_[from.value()]).packets[packet].ingress = kNoPort;
  queue(from, packet);
}

// Appends to the port's queue, and sends at once if the port is free.
void Fabric::queue(PortId at, PacketId packet) {
  Port& port = ports_[at.value()];
  Clockwork& here = clock(port);
  if (!port.up || port.drops(here.packets[packet].traffic_class)) return discard(at, packet);
  port.push(here.packets, packet);
  if (port.awaits_free) return;
  if (port.free_at <= here.now()) return port_free(at);
  port.awaits_free = true;
  here.wheel.at(port.free_at, Happening::kPortFree, at.value());
}

// Puts a packet on the cable. The port must be free.
void Fabric::start(PortId from, PacketId id) {
  Port& port = ports_[from.value()];
  Clockwork& here = clock(port);
  Packet& packet = here.packets[id];
  const Time now = here.now();
  Time begin = now;
  if (port.special && config_of(port).link_retry) [[unlikely]] {
    begin = now + time_of_repeats(port, packet);
  }
  port.free_at = begin + port.line.time_of(packet.bytes + gap_of(port.kind));
  ++port.sent_packets;
  port.sent_bytes += packet.bytes;
  packet.generation = port.generation;
  if (has_credits(port.kind)) port.credits[packet.traffic_class] -= packet.bytes;
  const FabricConfig& config = config_of(port);
  const bool early = config.cut_through && port.to_switch;
  const std::uint32_t seen = early ? std::min(packet.bytes, kCutThroughHead) : packet.bytes;
  const Time there = begin + port.line.time_of(seen) + port.delay;
  at_peer(port, port.to_switch ? there + config.switch_latency : there, Happening::kArrive,
          id.value());
}

bool Fabric::lost_in_flight(PortId at, PacketId id) {
  Port& port = ports_[at.value()];
  PacketPool& packets = clock(port).packets;
  const Packet& packet = packets[id];
  if (packet.generation == port.generation) {
    if (!port.special || !damaged(port, packet)) return false;
    taken(at, packet);  // return its credit
  }
  ++port.counters.lost_packets;
  port.counters.lost_bytes += packet.bytes;
  packets.give_back(id);
  return true;
}

PortId Fabric::predict_egress(const Port& in, const Packet& packet) const {
  return port_by_hash(ways_of(in, packet), config_of(in).path_choice,
                      switches_[in.switch_number].salt, packet);
}

std::span<const PortId> Fabric::ways_of(const Port& in, const Packet& packet) const {
  if (config_of(in).path_choice == PathChoice::kValiant && packet.traffic_class == kDataClass &&
      !(in.special && in.lifts)) {
    const auto ways = routes_.ways(in.node, detours_.towards(in.node, packet));
    if (!ways.empty()) return ways;
  }
  return routes_.ways(in.node, packet.destination);
}

PortId Fabric::choose(Switch& at, const Port& in, const Packet& packet) {
  const auto ways = ways_of(in, packet);
  if (ways.empty()) return kNoPort;
  const PathChoice choice = config_of(ports_[ways[0].value()]).path_choice;
  const PortId way = port_by_hash(ways, choice, at.salt, packet);
  if (way != kNoPort) return way;
  switch (choice) {
    case PathChoice::kEcmp:
    case PathChoice::kControlled:
    case PathChoice::kValiant:
      break;  // handled by port_by_hash()
    case PathChoice::kSpray:
      return ways[mix(at.sprayed++, at.salt) % ways.size()];
    case PathChoice::kFlowlet:
      return at.flowlets.choose(packet.flow_hash, ways, emptiest(ways, ports_, at.prng),
                                clock(ports_[ways[0].value()]).now());
    case PathChoice::kAdaptive:
      return emptiest(ways, ports_, at.prng);
  }
  return kNoPort;
}

// Drops a packet that has arrived but has not been admitted to the buffer.
void Fabric::drop(PortId at, PacketId id) {
  Port& port = ports_[at.value()];
  PacketPool& packets = clock(port).packets;
  taken(at, packets[id]);
  ++port.counters.dropped_packets;
  port.counters.dropped_bytes += packets[id].bytes;
  packets.give_back(id);
}

void Fabric::forward(PortId at, PacketId id) {
  if (lost_in_flight(at, id)) return;
  const Port& in = ports_[at.value()];
  Switch& here = switches_[in.switch_number];
  Packet& packet = clock(in).packets[id];
  const PortId way = choose(here, in, packet);
  if (way == kNoPort) return drop(at, id);
  const Port& out = ports_[way.value()];
  if (in.kind == LinkKind::kEthernet) {
    const FabricConfig& config = config_of(in);
    const bool full = config.trimming && is_full(config, out, packet);
    if (full || !here.buffer.admit(in.local, packet.traffic_class, packet.bytes,
                                   out.queues[packet.traffic_class].bytes)) {
      if (!config.trimming || !trim(at, packet)) return drop(at, id);
      if (!here.buffer.admit(in.local, packet.traffic_class, packet.bytes,
                             out.queues[packet.traffic_class].bytes)) {
        return drop(at, id);
      }
    }
    if (here.buffer.begin_pause(in.local, packet.traffic_class)) {
      send_pause(at, packet.traffic_class, true);
    }
  }
  packet.ingress = at;
  packet.ingress_class = packet.traffic_class;
  if (in.special && in.lifts) {
    if (packet.traffic_class == kDataClass) {
      packet.traffic_class = kLiftedClass;
    } else if (packet.traffic_class == kLiftedClass && in.lifts_twice) {
      packet.traffic_class = kTwiceLiftedClass;
    }
  }
  ++packet.hops;
  queue(way, id);
}

std::optional<unsigned> Fabric::next_class(const Port& port) const {
  if (port.kind == LinkKind::kEthernet) return port.turn();
  const auto highest = [&](unsigned classes) -> std::optional<unsigned> {
    for (unsigned one = kClasses; one-- > 0;) {
      if ((classes >> one & 1U) == 0) continue;
      const PacketId head = port.queues[one].head;
      if (clock(port).packets[head].bytes <= port.credits[one]) return one;
    }
    return std::nullopt;
  };
  const unsigned ready = port.ready();
  const auto turn = highest(ready);
  if (turn || ready == port.waiting) return turn;
  // The class whose turn it was has no credit: try the others.
  return highest(port.waiting & ~static_cast<unsigned>(port.paused));
}

void Fabric::port_free(PortId at) {
  Port& port = ports_[at.value()];
  port.awaits_free = false;
  Clockwork& here = clock(port);
  if (!port.up || port.free_at > here.now()) return;
  const auto turn = next_class(port);
  if (!turn) return;
  const PacketId packet = port.pop(here.packets, *turn);
  if (here.packets[packet].ingress != kNoPort) leave(at, packet);
  start(at, packet);
  if (port.waiting != 0) {
    port.awaits_free = true;
    here.wheel.at(port.free_at, Happening::kPortFree, at.value());
    fetch_next_packet(at);  // often within this window, too late for foresight.h
  }
}

// Frees the buffer space of a packet in its switch.
void Fabric::release(const Packet& packet) {
  const Port& in = ports_[packet.ingress.value()];
  if (has_credits(in.kind)) {
    return give_credit(packet.ingress, packet.ingress_class, packet.bytes);
  }
  SharedBuffer& buffer = switches_[in.switch_number].buffer;
  buffer.release(in.local, packet.ingress_class, packet.bytes);
  if (buffer.end_pause(in.local, packet.ingress_class)) {
    send_pause(packet.ingress, packet.ingress_class, false);
  }
}

// A packet leaves its switch: free its buffer space, mark it, add telemetry.
void Fabric::leave(PortId from, PacketId id) {
  Port& port = ports_[from.value()];
  Packet& packet = clock(port).packets[id];
  release(packet);
  if (port.kind == LinkKind::kInfiniBand) return;
  const MarkingConfig& marking = config_of(port).marking;
  const std::uint32_t queued = port.queues[packet.traffic_class].bytes;
  if (packet.may_be_marked && queued > marking.low &&
      marks(marking, port.marking, queued, switches_[port.switch_number].prng)) {
    packet.marked = true;
    ++port.counters.marked_packets;
  }
  if (packet.collects) {
    clock(port).packets.trail(id).add({.transmitted_bytes = port.sent_bytes,
                                       .timestamp_ps = clock(port).now().picoseconds(),
                                       .line_rate_bps = port.rate.bits_per_second(),
                                       .queue_bytes = queued});
  }
}

// A pause overtakes queued packets, but not the one being sent.
void Fabric::send_pause(PortId ingress, unsigned traffic_class, bool stop) {
  Port& port = ports_[ingress.value()];
  if (!port.up) return;
  if (stop) ++port.counters.pauses_sent;
  const Time begin = std::max(clock(port).now(), port.free_at);
  const Time there = begin + port.line.time_of(kPauseFrame + kEthernetGap) + port.delay;
  at_peer(port, there, Happening::kPause, pause_word(port.generation, traffic_class, stop));
}

void Fabric::pause(PortId at, std::uint32_t argument) {
  Port& port = ports_[at.value()];
  if (argument >> 4U != port.generation % kPauseGenerations) return;  // lost when the cable failed
  const unsigned traffic_class = argument / 2 % kClasses;
  const auto bit = static_cast<std::uint8_t>(1U << traffic_class);
  const std::uint8_t before = port.paused;
  port.paused = static_cast<std::uint8_t>(argument % 2 != 0 ? before | bit : before & ~bit);
  const Time now = clock(port).now();
  if (before == 0 && port.paused != 0) port.paused_since = now;
  if (before != 0 && port.paused == 0) {
    port.counters.paused_time_ps += static_cast<std::uint64_t>((now - port.paused_since).count());
  }
  port.dropping &= port.paused;
  if ((port.paused & ~before) != 0) watch(at, traffic_class);
  if (argument % 2 == 0 && !port.awaits_free) port_free(at);
}

void Fabric::taken(PortId at, const Packet& packet) {
  const Port& port = ports_[at.value()];
  // A cable that has failed since has begun with all credit.
  if (!has_credits(port.kind) || packet.generation != port.generation) return;
  give_credit(at, packet.traffic_class, packet.bytes);
}

void Fabric::give_credit(PortId at, unsigned traffic_class, std::uint32_t bytes) {
  const Port& port = ports_[at.value()];
  if (!port.up) return;
  at_peer(port, clock(port).now() + port.delay, Happening::kCredit,
          credit_word(port.generation, traffic_class, bytes));
}

void Fabric::credit(PortId at, std::uint32_t argument) {
  Port& port = ports_[at.value()];
  if (argument >> 20U != port.generation % kCreditGenerations)
    return;  // lost when the cable failed
  port.credits[argument >> 18U & 3U] += argument & 0x3'ffffU;
  if (!port.awaits_free) port_free(at);
}

}  // namespace nerve::sim
