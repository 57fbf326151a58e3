#include "sim/topology/pieces.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {

Graph star(std::uint32_t nics, const Links& links) {
  Graph graph;
  add_nics(graph, nics);
  const NodeId middle = graph.add(NodeKind::kSwitch, "switch", 1);
  for (std::uint32_t i = 0; i < nics; ++i) graph.join(NodeId{i}, middle, links.rate, links.delay);
  return graph;
}

}  // namespace nerve::sim
