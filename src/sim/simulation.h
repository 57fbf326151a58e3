// A fabric with its NICs, and the event loop.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/fabric/fabric.h"
#include "sim/fabric/faults.h"
#include "sim/foresight.h"
#include "sim/host/sim_nic.h"
#include "sim/host/tcp_nic.h"

namespace nerve::sim {

// One of the networks in a graph.
struct SimulatedNetwork {
  FabricConfig fabric{};
  SimNicConfig nics{};
  std::optional<TcpSpec> tcp;  // hosts use TCP and have no engine
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Graph& graph, const FabricConfig& fabric,
             const SimNicConfig& nics)
      : Simulation{seed, graph, {{fabric, nics, std::nullopt}}} {}
  Simulation(std::uint64_t seed, const Graph& graph, const std::vector<SimulatedNetwork>& networks);

  [[nodiscard]] Clockwork& clockwork() { return clockwork_; }
  [[nodiscard]] Fabric& fabric() { return fabric_; }
  // Null for a switch, and for a NIC of the other kind.
  [[nodiscard]] SimNic* find_nic(NodeId node) { return nics_[node.value()].get(); }
  [[nodiscard]] const SimNic* find_nic(NodeId node) const { return nics_[node.value()].get(); }
  [[nodiscard]] TcpNic* find_tcp_nic(NodeId node) { return tcp_nics_[node.value()].get(); }
  [[nodiscard]] SimNic& nic(NodeId node) { return *nics_[node.value()]; }

  // For NICs of both kinds. The two ends of a connection must be in one network.
  void serve(NicUser& user);
  [[nodiscard]] Joined join(NodeId a, NodeId b);
  [[nodiscard]] bool write(NodeId from, const NicMessage& message);

  using OnTask = std::function<void(std::uint32_t subject, std::uint32_t argument)>;
  void on_task(OnTask call) { on_task_ = std::move(call); }
  using OnSample = std::function<void()>;
  void on_sample(OnSample call) { on_sample_ = std::move(call); }

  // Schedules the faults of cables.
  void schedule(Faults faults);

  // Runs until no event is left at or before `limit`, until stop(), or for at most this many
  // events. Returns the number of events.
  std::uint64_t run(Time limit, std::uint64_t most_events = UINT64_MAX);
  void stop() { stopped_ = true; }

 private:
  void happen(const Event<Happening>& event);
  void arrive(PortId at, PacketId packet);
  void port_free(PortId at);
  void resumed(const Port& port);

  Clockwork clockwork_;
  Fabric fabric_;
  Faults faults_;
  std::vector<std::unique_ptr<SimNic>> nics_;      // per node; null for a switch
  std::vector<std::unique_ptr<TcpNic>> tcp_nics_;  // per node
  bool stopped_{};
  OnTask on_task_;
  OnSample on_sample_;
};

}  // namespace nerve::sim
