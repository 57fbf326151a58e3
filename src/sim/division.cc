#include "sim/division.h"

#include <algorithm>

namespace nerve::sim {
namespace {

constexpr std::uint16_t kUndecided = 0xffff;

bool is_nic(const Graph& graph, NodeId node) {
  return graph.nodes[node.value()].kind == NodeKind::kNic;
}

std::vector<std::uint32_t> cables_of(const Graph& graph) {
  std::vector<std::uint32_t> count(graph.nodes.size());
  for (const Cable& cable : graph.cables) {
    ++count[cable.a.value()];
    ++count[cable.b.value()];
  }
  return count;
}

// The switch that a node is attached to with its first cable; itself if it is a switch.
std::vector<NodeId> homes_of(const Graph& graph) {
  std::vector<NodeId> home(graph.nodes.size(), NodeId{kNobody});
  for (const Cable& cable : graph.cables) {
    for (const auto& [nic, other] : {std::pair{cable.a, cable.b}, std::pair{cable.b, cable.a}}) {
      if (is_nic(graph, nic) && !is_nic(graph, other) && home[nic.value()] == NodeId{kNobody}) {
        home[nic.value()] = other;
      }
    }
  }
  return home;
}

}  // namespace

Duration shortest_cut(const Graph& graph) {
  const std::vector<std::uint32_t> cables = cables_of(graph);
  Duration shortest{INT64_MAX};
  for (const Cable& cable : graph.cables) {
    const auto leaf = [&](NodeId node) { return is_nic(graph, node) && cables[node.value()] == 1; };
    if (!leaf(cable.a) && !leaf(cable.b)) shortest = std::min(shortest, cable.delay);
  }
  return shortest;
}

std::vector<std::uint16_t> divide(const Graph& graph, std::uint32_t parts) {
  std::vector<std::uint16_t> part(graph.nodes.size(), parts == 1 ? 0 : kUndecided);
  if (parts == 1) return part;
  const std::vector<NodeId> home = homes_of(graph);
  std::vector<std::uint64_t> nics(graph.nodes.size());
  std::uint64_t all = 0;
  for (const NodeId one : home) {
    if (one == NodeId{kNobody}) continue;
    ++nics[one.value()];
    ++all;
  }
  std::uint64_t before = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (nics[i] == 0) continue;
    part[i] = static_cast<std::uint16_t>((before + nics[i] / 2) * parts / all);
    before += nics[i];
  }
  // A switch without NICs joins its neighbours if they agree.
  std::vector<std::uint16_t> joins(graph.nodes.size(), kUndecided);
  std::vector<bool> torn(graph.nodes.size());
  for (const Cable& cable : graph.cables) {
    for (const auto& [one, other] : {std::pair{cable.a, cable.b}, std::pair{cable.b, cable.a}}) {
      if (nics[one.value()] > 0 || nics[other.value()] == 0) continue;
      std::uint16_t& to = joins[one.value()];
      if (to == kUndecided) to = part[other.value()];
      if (to != part[other.value()]) torn[one.value()] = true;
    }
  }
  std::uint32_t turn = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != kUndecided || graph.nodes[i].kind != NodeKind::kSwitch) continue;
    const bool agreed = joins[i] != kUndecided && !torn[i];
    part[i] = agreed ? joins[i] : static_cast<std::uint16_t>(turn++ % parts);
  }
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] != kUndecided) continue;
    part[i] = home[i] == NodeId{kNobody} ? std::uint16_t{0} : part[home[i].value()];
  }
  return part;
}

}  // namespace nerve::sim
