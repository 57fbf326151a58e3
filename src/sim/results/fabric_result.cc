#include "sim/results/fabric_result.h"

#include <algorithm>

namespace nerve::sim {

std::vector<NodeResult> nodes_of(const Graph& graph) {
  std::vector<NodeResult> nodes;
  nodes.reserve(graph.nodes.size());
  for (const GraphNode& node : graph.nodes) {
    nodes.push_back({node.name, node.tier, node.kind == NodeKind::kSwitch});
  }
  return nodes;
}

std::vector<LinkResult> links_of(const Graph& graph) {
  std::vector<LinkResult> links(graph.ports());
  for (std::uint32_t i = 0; i < links.size(); ++i) {
    links[i].from = graph.node_at(PortId{i}).value();
    links[i].to = graph.node_at(Graph::other_end(PortId{i})).value();
    links[i].rate_bps = graph.cables[i / 2].rate.bits_per_second();
  }
  return links;
}

std::uint64_t paused_time_ps(const Port& port, Time now) {
  const std::uint64_t before = port.counters.paused_time_ps;
  if (port.paused == 0) return before;
  return before + static_cast<std::uint64_t>((now - port.paused_since).count());
}

void count_links(Simulation& simulation, Duration over, std::span<LinkResult> links) {
  constexpr double kBitsTimesPicoseconds = 8e12;
  const std::span<const Port> ports = simulation.fabric().ports();
  const Time now = simulation.now();
  for (std::size_t i = 0; i < links.size(); ++i) {
    LinkResult& link = links[i];
    const Port& port = ports[i];
    const PortCounters& far_end = ports[port.peer.value()].counters;
    link.bytes = port.sent_bytes;
    const std::uint64_t on_cable = port.sent_bytes + port.sent_packets * Fabric::gap(port);
    const double capacity = static_cast<double>(link.rate_bps) * static_cast<double>(over.count());
    if (capacity > 0) {
      link.utilisation =
          std::min(1.0, static_cast<double>(on_cable) * kBitsTimesPicoseconds / capacity);
    }
    link.most_queued = std::max(link.most_queued, port.most_queued);
    link.marked = port.counters.marked_packets;
    link.dropped = far_end.dropped_packets;
    link.lost = far_end.lost_packets;
    link.pauses = far_end.pauses_sent;
    link.paused = Duration{static_cast<std::int64_t>(paused_time_ps(port, now))};
  }
}

Totals totals_of(Simulation& simulation) {
  Totals all;
  const Time now = simulation.now();
  for (const Port& port : simulation.fabric().ports()) {
    all.marked += port.counters.marked_packets;
    all.dropped += port.counters.dropped_packets;
    all.lost += port.counters.lost_packets;
    all.pauses += port.counters.pauses_sent;
    all.watchdog_trips += port.counters.watchdog_trips;
    all.trimmed += port.counters.trimmed_packets;
    all.link_retries += port.counters.link_retries;
    all.paused += Duration{static_cast<std::int64_t>(paused_time_ps(port, now))};
  }
  const auto nodes = static_cast<std::uint32_t>(simulation.fabric().graph().nodes.size());
  for (std::uint32_t i = 0; i < nodes; ++i) {
    const auto nic = simulation.find_figures(NodeId{i});
    if (!nic) continue;
    all.data_packets += nic->data_packets;
    all.data_bytes += nic->bytes_sent;
    all.retransmitted += nic->retransmitted;
    all.timeouts += nic->timeouts;
    all.congestion_notices += nic->congestion_notices;
    all.policy_fallbacks += nic->policy_fallbacks;
  }
  return all;
}

}  // namespace nerve::sim
