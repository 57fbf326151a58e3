// A fabric with its NICs, and the loop that lets time pass.
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
  std::optional<TcpSpec> tcp;  // its hosts speak TCP, and have no engine
};

class Simulation {
 public:
  Simulation(std::uint64_t seed, const Graph& graph, const FabricConfig& fabric,
             const SimNicConfig& nics)
      : Simulation{seed, graph, {{fabric, nics, std::nullopt}}} {}
  Simulation(std::uint64_t seed, const Graph& graph, const std::vector<SimulatedNetwork>& networks);

  [[nodiscard]] Clockwork& clockwork() { return clockwork_; }
  [[nodiscard]] Fabric& fabric() { return fabric_; }
  // None for a switch, and for a NIC of the other kind.
  [[nodiscard]] SimNic* find_nic(NodeId node) { return nics_[node.value()].get(); }
  [[nodiscard]] const SimNic* find_nic(NodeId node) const { return nics_[node.value()].get(); }
  [[nodiscard]] TcpNic* find_tcp_nic(NodeId node) { return tcp_nics_[node.value()].get(); }
  [[nodiscard]] SimNic& nic(NodeId node) { return *nics_[node.value()]; }

  // Whatever kind the NICs are. Both ends of a connection are in one network.
  void serve(NicUser& user);
  [[nodiscard]] Joined join(NodeId a, NodeId b);
  [[nodiscard]] bool write(NodeId from, const NicMessage& message);

  using OnTask = std::function<void(std::uint32_t subject, std::uint32_t argument)>;
  void on_task(OnTask call) { on_task_ = std::move(call); }
  using OnSample = std::function<void()>;
  void on_sample(OnSample call) { on_sample_ = std::move(call); }

  // What is to happen to cables, from now on.
  void schedule(Faults faults);

  // Until nothing is left to happen at or before `limit`, until stop(), or until so many events
  // have happened; returns how many have.
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
  std::vector<std::unique_ptr<SimNic>> nics_;      // of each node; none for a switch
  std::vector<std::unique_ptr<TcpNic>> tcp_nics_;  // likewise
  bool stopped_{};
  OnTask on_task_;
  OnSample on_sample_;
};

}  // namespace nerve::sim
