// The network: switches, cables and the packets that cross them.
//
// Ports, switches and packets are numbered and lie in flat arrays. The event loop calls one
// function for each kind of event. A packet that reaches a NIC belongs to the caller again.
//
// Ethernet: a switch admits a packet to its shared buffer or drops it, pauses the upstream port
// when a lossless class exceeds its share, and marks packets as they leave. InfiniBand: a port
// sends only as much as the credits of its peer allow, so nothing is dropped.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/prng.h"
#include "sim/core/clockwork.h"
#include "sim/core/outbox.h"
#include "sim/fabric/detours.h"
#include "sim/fabric/graph.h"
#include "sim/fabric/marking.h"
#include "sim/fabric/path_choice.h"
#include "sim/fabric/port.h"
#include "sim/fabric/routes.h"
#include "sim/fabric/shared_buffer.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim {

// What the fabric needs of a part of the simulation.
struct FabricPart {
  static constexpr Time kNever{Duration{INT64_MAX}};

  Clockwork clockwork;
  std::span<Outbox> leaving;    // per part: what happens there
  Time next_elsewhere{kNever};  // the first event in `leaving`
};

// The bytes that may still arrive from a cable after PFC has sent a pause.
[[nodiscard]] std::uint32_t headroom_of(const FabricConfig& config, Rate rate, Duration delay);

// The lossless classes of a network with cables between groups: if data is lossless, so are the
// classes that it changes to.
[[nodiscard]] std::uint8_t lossless_between_groups(const FabricConfig& config);

class Fabric {
 public:
  // `networks` has one entry for each network of the graph. All randomness comes from the seed.
  Fabric(std::uint64_t seed, const Graph& graph, std::vector<FabricConfig> networks);

  // The part of the simulation that each node belongs to, and the clockwork of each part. Call it
  // before the first packet. The clockwork of a part that another process runs is null.
  void divide(std::span<const std::uint16_t> part_of_node, std::span<FabricPart* const> parts);

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] bool is_switch(NodeId node) const { return switch_of_[node.value()] != kNobody; }
  [[nodiscard]] Port& port(PortId id) { return ports_[id.value()]; }
  [[nodiscard]] std::span<const Port> ports() const { return ports_; }
  [[nodiscard]] PortId first_port(NodeId node) const { return ports_of(node)[0]; }
  [[nodiscard]] std::span<const PortId> ports_of(NodeId node) const {
    const std::uint32_t first = first_of_[node.value()];
    return {ports_by_node_.data() + first, first_of_[node.value() + 1] - first};
  }
  // Of all cables of a NIC together.
  [[nodiscard]] Rate rate_of(NodeId node) const {
    std::uint64_t rate = 0;
    for (const PortId one : ports_of(node)) rate += ports_[one.value()].rate.bits_per_second();
    return Rate::bits_per_second(rate);
  }
  [[nodiscard]] const Routes& routes() const { return routes_; }
  [[nodiscard]] const FabricConfig& config_of(const Port& port) const {
    return networks_[port.network];
  }
  // Whether this port of a NIC is up and the current routes lead from it to the destination.
  [[nodiscard]] bool leads_to(PortId from_nic, NodeId destination) const {
    const Port& port = ports_[from_nic.value()];
    return port.up && !routes_.ways(ports_[port.peer.value()].node, destination).empty();
  }
  // The port by which a NIC sends to this QP of another one. With several ports it follows from the
  // number of that QP: receivers number their QPs in turn, so each port gets an equal share. If
  // that port is down or has no route, the next one is used.
  [[nodiscard]] PortId nic_port(NodeId nic, NodeId destination, Qpn qp) const {
    const std::span<const PortId> ports = ports_of(nic);
    for (std::size_t i = 0; ports.size() > 1 && i < ports.size(); ++i) {
      const PortId one = ports[(qp.value() + i) % ports.size()];
      if (leads_to(one, destination)) return one;
    }
    return ports[qp.value() % ports.size()];
  }
  // The port that a switch with ECMP chooses for a flow; kNoPort when there is no route.
  [[nodiscard]] PortId hashed_way(NodeId at, NodeId destination, std::uint32_t flow_hash) const {
    const auto ways = routes_.ways(at, destination);
    if (ways.empty()) return kNoPort;
    if (ways.size() == 1) return ways[0];
    return ways[mix(flow_hash, switches_[switch_of_[at.value()]].salt) % ways.size()];
  }
  // Whether this process runs the part that this port belongs to.
  [[nodiscard]] bool is_here(const Port& port) const { return parts_[port.part] != nullptr; }
  // Bytes on the cable in addition to each packet: preamble and gap.
  [[nodiscard]] static std::uint32_t gap(const Port& port);

  // Called by a NIC. A packet that cannot be sent yet waits at the port.
  void send(PortId from, PacketId packet);

  // Event handlers. forward(): a packet has arrived at a switch.
  void forward(PortId at, PacketId packet);
  void port_free(PortId at);
  void pause(PortId at, std::uint32_t argument);
  void credit(PortId at, std::uint32_t argument);
  void watchdog(PortId at, unsigned traffic_class);
  // Returns the credit of a packet that a NIC has taken from its port.
  void taken(PortId at, const Packet& packet);
  // Drops a packet that has arrived at this port and finds no room.
  void drop(PortId at, PacketId packet);
  [[nodiscard]] bool is_lossless(PortId at, unsigned traffic_class) const {
    return (config_of(ports_[at.value()]).buffer.lossless >> traffic_class & 1U) != 0;
  }

  // Whether the cable failed or damaged the packet in flight; such a packet is freed. Call it once.
  [[nodiscard]] bool lost_in_flight(PortId at, PacketId packet);

  // Faults, scheduled by faults.h. When a cable fails, the packets queued at its ports are dropped,
  // and so are packets routed to it until the switches reroute. When the cable comes back, both
  // ends start with fresh credits and pauses.
  void take_down(CableId cable);
  void bring_up(CableId cable);  // with its original rate
  void slow_down(CableId cable, Rate rate);
  // The error probability of each byte, in units of 1/kErrorUnit.
  void damage(CableId cable, std::uint64_t error_chance);
  // The NIC at this port pauses its switch, or resumes it.
  void pause_switch(PortId nic, bool begins);
  // The bytes of each class that entered at this port and are still queued in its switch. A cable
  // that comes back needs those of both ends, and this process may run only one of them.
  using Held = std::array<std::uint32_t, kClasses>;
  [[nodiscard]] Held held(PortId ingress) const;
  void learn_held(PortId ingress, const Held& bytes) {
    held_elsewhere_.push_back({ingress, bytes});
  }
  void forget_held() { held_elsewhere_.clear(); }
  // `down` has a flag for each cable.
  void reroute(const std::vector<bool>& down);

  // The number of flows (by hash) among the first 256 packets queued at this port; for reports.
  [[nodiscard]] std::uint32_t flows_queued(PortId at) const;

  // Prefetches what forward() and port_free() will touch at a switch port.
  void fetch(PortId at) const;
  void fetch_way_out(PortId at, PacketId packet);
  void fetch_queue(PortId at, PacketId packet);
  void fetch_next_packet(PortId at);
  void fetch_way_in(PortId at);
  void fetch_memory(PortId at);

 private:
  struct Switch {
    SharedBuffer buffer;
    FlowletTable flowlets;
    std::uint32_t salt{};
    std::uint32_t sprayed{};
    Prng prng;
  };

  [[nodiscard]] Clockwork& clock(const Port& port) const { return parts_[port.part]->clockwork; }
  // Schedules an event at the other end of the cable.
  void at_peer(const Port& port, Time when, Happening kind, std::uint32_t argument) {
    if (port.peer_part != port.part) [[unlikely]]
      return leave_part(port, when, kind, argument);
    clock(port).wheel.at(when, kind, port.peer.value(), argument);
  }
  void leave_part(const Port& port, Time when, Happening kind, std::uint32_t argument);
  void build_ports();
  void set_marking_thresholds();
  void build_switches();
  // The egress port, if it does not depend on state that may still change; kNoPort otherwise.
  [[nodiscard]] PortId predict_egress(const Port& in, const Packet& packet) const;
  [[nodiscard]] PortId choose(Switch& at, const Port& in, const Packet& packet);
  // The ports on the way of a packet that has arrived here.
  [[nodiscard]] std::span<const PortId> ways_of(const Port& in, const Packet& packet) const;
  // Drops a packet at its egress port.
  void discard(PortId at, PacketId packet);
  void empty_queues(PortId at);
  [[nodiscard]] bool damaged(Port& at, const Packet& packet) const;
  void queue(PortId at, PacketId packet);
  void start(PortId from, PacketId packet);
  void leave(PortId from, PacketId packet);
  void release(const Packet& packet);
  // Trimming (trimming.cc). trim(): false if the packet has no payload to lose.
  [[nodiscard]] static bool is_full(const FabricConfig& config, const Port& out,
                                    const Packet& packet);
  bool trim(PortId at, Packet& packet);
  // Link-level retry: how long a packet is repeated until it arrives undamaged.
  [[nodiscard]] Duration time_of_repeats(Port& port, const Packet& packet);
  void give_credit(PortId at, unsigned traffic_class, std::uint32_t bytes);
  void unpause(Port& port);
  // A pause begins: the watchdog looks at it later.
  void watch(PortId at, unsigned traffic_class);
  void resynchronise(PortId at, unsigned traffic_class);
  [[nodiscard]] Held held_at_peer(const Port& port) const;
  void send_pause(PortId ingress, unsigned traffic_class, bool stop);
  [[nodiscard]] std::optional<unsigned> next_class(const Port& port) const;

  Prng prng_;
  std::vector<FabricPart*> parts_;
  Graph graph_;
  std::vector<FabricConfig> networks_;
  Routes routes_;
  Detours detours_;  // empty unless a network has Valiant routing
  std::vector<Port> ports_;
  std::vector<std::uint32_t> first_of_;  // per node, an index into ports_by_node_
  std::vector<PortId> ports_by_node_;
  std::vector<std::uint32_t> switch_of_;  // per node
  std::vector<Switch> switches_;
  std::vector<std::array<Time, kClasses>> paused_at_;    // per port, if there is a watchdog
  std::vector<std::pair<PortId, Held>> held_elsewhere_;  // by switches of other processes
};

}  // namespace nerve::sim
