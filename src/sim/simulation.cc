#include "sim/simulation.h"

namespace nerve::sim {
namespace {

std::vector<FabricConfig> fabrics_of(const std::vector<SimulatedNetwork>& networks) {
  std::vector<FabricConfig> fabrics;
  fabrics.reserve(networks.size());
  for (const SimulatedNetwork& one : networks) fabrics.push_back(one.fabric);
  return fabrics;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, const Graph& graph,
                       const std::vector<SimulatedNetwork>& networks)
    : clockwork_{seed},
      fabric_{clockwork_, graph, fabrics_of(networks)},
      nics_(graph.nodes.size()),
      tcp_nics_(graph.nodes.size()) {
  for (std::uint32_t i = 0; i < nics_.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::kNic) continue;
    const SimulatedNetwork& network = networks[graph.nodes[i].network];
    if (network.tcp) {
      tcp_nics_[i] = std::make_unique<TcpNic>(clockwork_, fabric_, NodeId{i}, *network.tcp);
      continue;
    }
    SimNicConfig own = network.nics;
    std::uint64_t rate = 0;
    for (const PortId port : fabric_.ports_of(NodeId{i})) {
      rate += fabric_.port(port).rate.bits_per_second();
    }
    own.engine.line_rate = Rate::bits_per_second(rate);
    nics_[i] = std::make_unique<SimNic>(clockwork_, fabric_, NodeId{i}, own);
  }
}

void Simulation::schedule(Faults faults) {
  faults_ = std::move(faults);
  faults_.schedule(clockwork_);
}

void Simulation::serve(NicUser& user) {
  for (std::size_t i = 0; i < nics_.size(); ++i) {
    if (nics_[i]) nics_[i]->serve(user);
    if (tcp_nics_[i]) tcp_nics_[i]->serve(user);
  }
}

Joined Simulation::join(NodeId a, NodeId b) {
  if (nics_[a.value()]) return SimNic::join(nic(a), nic(b));
  return TcpNic::join(*tcp_nics_[a.value()], *tcp_nics_[b.value()]);
}

bool Simulation::write(NodeId from, const NicMessage& message) {
  if (SimNic* const nic = find_nic(from)) return nic->write(message);
  tcp_nics_[from.value()]->write(message);
  return true;
}

std::uint64_t Simulation::run(Time limit, std::uint64_t most_events) {
  const std::uint64_t before = clockwork_.wheel.executed();
  std::uint64_t left = most_events;
  Event<Happening> event;
  Foresight foresight{clockwork_, fabric_, nics_};
  stopped_ = false;
  while (left-- > 0 && !stopped_ && clockwork_.wheel.next(limit, event)) {
    foresight.look();
    happen(event);
  }
  return clockwork_.wheel.executed() - before;
}

void Simulation::arrive(PortId at, PacketId packet) {
  const Port& port = fabric_.port(at);
  if (port.switch_number != kNobody) return fabric_.forward(at, packet);
  if (SimNic* const nic = find_nic(port.node)) return nic->arrive(at, packet);
  find_tcp_nic(port.node)->arrive(at, packet);
}

void Simulation::port_free(PortId at) {
  const Port& port = fabric_.port(at);
  if (port.switch_number != kNobody) return fabric_.port_free(at);
  if (SimNic* const nic = find_nic(port.node)) return nic->port_free(at);
  find_tcp_nic(port.node)->port_free(at);
}

// Notifies a NIC that its peer has resumed it or returned credit.
void Simulation::resumed(const Port& port) {
  if (port.switch_number != kNobody) return;
  if (SimNic* const nic = find_nic(port.node)) return nic->resumed();
  find_tcp_nic(port.node)->resumed();
}

void Simulation::happen(const Event<Happening>& event) {
  const PortId port{event.subject};
  switch (event.kind) {
    case Happening::kArrive:
      return arrive(port, PacketId{event.argument});
    case Happening::kPortFree:
      return port_free(port);
    case Happening::kPause:
      fabric_.pause(port, event.argument);
      return resumed(fabric_.port(port));
    case Happening::kCredit:
      fabric_.credit(port, event.argument);
      return resumed(fabric_.port(port));
    case Happening::kNicTimer:
      return nics_[event.subject]->timer(event.when);
    case Happening::kCnp:
      return nics_[event.subject]->release(PacketId{event.argument});
    case Happening::kTcp:
      return tcp_nics_[event.subject]->happen(event.argument);
    case Happening::kTask:
      return on_task_(event.subject, event.argument);
    case Happening::kSample:
      return on_sample_();
    case Happening::kCable:
      for (const PortId changed : faults_.happen(fabric_, event.subject)) {
        resumed(fabric_.port(changed));
      }
      return;
  }
}

}  // namespace nerve::sim
