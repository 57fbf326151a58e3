#include "sim/fabric/graph.h"

#include <algorithm>

namespace nerve::sim {

Graph merge(Graph a, const Graph& b, std::string_view prefix) {
  const auto nodes = static_cast<std::uint32_t>(a.nodes.size());
  std::uint8_t networks = 0;
  for (const GraphNode& node : a.nodes) {
    networks = std::max(networks, static_cast<std::uint8_t>(node.network + 1));
  }
  for (GraphNode node : b.nodes) {
    node.name.insert(0, prefix);
    node.network = static_cast<std::uint8_t>(node.network + networks);
    a.nodes.push_back(std::move(node));
  }
  for (Cable cable : b.cables) {
    cable.a = NodeId{cable.a.value() + nodes};
    cable.b = NodeId{cable.b.value() + nodes};
    a.cables.push_back(cable);
  }
  return a;
}

}  // namespace nerve::sim
