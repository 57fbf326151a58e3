// The network: switches and cables, and packets that cross them.
//
// Ports, switches and packets are numbered and lie in flat arrays. Whoever runs the events calls
// one function for each kind; a packet that reaches a NIC is the caller's again.
//
// Ethernet: a switch takes a packet into its shared buffer or drops it, tells the port upstream to
// pause when a lossless class has had its share, marks packets as they leave. InfiniBand: a port
// sends only what the other end has room for, so that nothing is ever dropped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/fabric/graph.h"
#include "sim/fabric/marking.h"
#include "sim/fabric/path_choice.h"
#include "sim/fabric/port.h"
#include "sim/fabric/routes.h"
#include "sim/fabric/shared_buffer.h"

namespace nerve::sim {

// The switches of one network.
struct FabricConfig {
  LinkKind kind{LinkKind::kEthernet};  // of cables that do not say
  BufferConfig buffer{};
  MarkingConfig marking{};
  PathChoice path_choice{PathChoice::kEcmp};
  bool hash_alike{};  // ECMP: what one switch takes apart, the next does not (polarisation)
  Duration flowlet_gap{std::chrono::microseconds{50}};
  bool cut_through{};
  Duration switch_latency{};                 // from the port in to the queue out
  std::uint32_t lane_buffer{64 << 10};       // InfiniBand: of each port and virtual lane
  std::uint32_t longest_packet{4096 + 128};  // for what PFC must absorb after it has spoken
  bool telemetry{};
};

// What PFC must absorb at the end of a cable after it has spoken.
[[nodiscard]] std::uint32_t headroom_of(const FabricConfig& config, Rate rate, Duration delay);

class Fabric {
 public:
  // One set of settings for each network of the graph.
  Fabric(Clockwork& clockwork, const Graph& graph, std::vector<FabricConfig> networks);
  Fabric(Clockwork& clockwork, const Graph& graph, const FabricConfig& config)
      : Fabric{clockwork, graph, std::vector<FabricConfig>{config}} {}

  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] bool is_switch(NodeId node) const { return switch_of_[node.value()] != kNobody; }
  [[nodiscard]] Port& port(PortId id) { return ports_[id.value()]; }
  [[nodiscard]] std::span<const Port> ports() const { return ports_; }
  [[nodiscard]] PortId first_port(NodeId node) const { return ports_of(node)[0]; }
  [[nodiscard]] std::span<const PortId> ports_of(NodeId node) const {
    const std::uint32_t first = first_of_[node.value()];
    return {ports_by_node_.data() + first, first_of_[node.value() + 1] - first};
  }
  [[nodiscard]] const Routes& routes() const { return routes_; }
  [[nodiscard]] const FabricConfig& config_of(const Port& port) const {
    return networks_[port.network];
  }
  // Whether what a NIC sends by this port of its can get there, as far as is known.
  [[nodiscard]] bool leads_to(PortId from_nic, NodeId destination) const {
    const Port& port = ports_[from_nic.value()];
    return port.up && !routes_.ways(ports_[port.peer.value()].node, destination).empty();
  }
  // What a cable carries beside each packet, in bytes: preamble and gap.
  [[nodiscard]] static std::uint32_t gap(const Port& port);

  // From a NIC. What cannot leave yet waits at its port.
  void send(PortId from, PacketId packet);

  // One for each kind of event.
  // A packet has come to a switch.
  void forward(PortId at, PacketId packet);
  void port_free(PortId at);
  void pause(PortId at, std::uint32_t argument);
  void credit(PortId at, std::uint32_t argument);
  // A NIC has taken a packet from its port: its credit goes back.
  void taken(PortId at, const Packet& packet);

  // Whether this packet was on a cable that failed under it, or was damaged there. Asked once.
  [[nodiscard]] bool lost_on_the_way(PortId at, PacketId packet);

  // Faults (faults.h says when). What waits at a port whose cable fails is dropped, as is all that
  // comes to it until routes are found anew; both ends begin again when the cable is up.
  void take_down(CableId cable);
  void bring_up(CableId cable);  // as it was built
  void slow_down(CableId cable, Rate rate);
  // The chance of each byte, in kErrorUnit.
  void damage(CableId cable, std::uint64_t error_chance);
  // The NIC at this port takes nothing, or takes packets again.
  void storm(PortId nic, bool begins);
  // `down` holds a flag for each cable.
  void reroute(const std::vector<bool>& down);

  // Into the cache: what forward() and port_free() of a switch's port will touch.
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
  };

  void build_ports();
  void build_switches();
  // Where it will go, if that can be told before its turn.
  [[nodiscard]] PortId foresee(const Port& in, const Packet& packet) const;
  [[nodiscard]] PortId choose(Switch& at, NodeId node, const Packet& packet);
  void drop(PortId at, PacketId packet);
  // Of a packet that waited at a port, or would have.
  void discard(PortId at, PacketId packet);
  void empty_queues(PortId at);
  [[nodiscard]] bool damaged(const Port& at, const Packet& packet);
  void queue(PortId at, PacketId packet);
  void start(PortId from, PacketId packet);
  void leave(PortId from, PacketId packet);
  void release(const Packet& packet);
  void give_credit(PortId at, unsigned traffic_class, std::uint32_t bytes);
  void unpause(Port& port);
  void begin_again(PortId at, unsigned traffic_class);
  [[nodiscard]] std::uint32_t held_from(PortId ingress, unsigned traffic_class);
  void tell_upstream(PortId ingress, unsigned traffic_class, bool stop);
  [[nodiscard]] std::optional<unsigned> next_class(const Port& port) const;

  Clockwork& clockwork_;
  Graph graph_;
  std::vector<FabricConfig> networks_;
  Routes routes_;
  std::vector<Port> ports_;
  std::vector<std::uint32_t> first_of_;  // of each node, in the next
  std::vector<PortId> ports_by_node_;
  std::vector<std::uint32_t> switch_of_;  // of each node
  std::vector<Switch> switches_;
};

}  // namespace nerve::sim
