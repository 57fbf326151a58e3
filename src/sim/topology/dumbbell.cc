#include "sim/topology/pieces.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {

Graph dumbbell(std::uint32_t nics, std::uint32_t trunks, const Links& links) {
  Graph graph;
  add_nics(graph, nics);
  const NodeId left = graph.add(NodeKind::kSwitch, "left", 1);
  const NodeId right = graph.add(NodeKind::kSwitch, "right", 1);
  for (std::uint32_t i = 0; i < nics; ++i) {
    graph.join(NodeId{i}, i < nics / 2 ? left : right, links.rate, links.delay);
  }
  for (std::uint32_t i = 0; i < trunks; ++i) {
    graph.join(left, right, links.trunk, links.between_switches());
  }
  return graph;
}

}  // namespace nerve::sim
