#include "sim/topology/pieces.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {

Graph leaf_spine(const LeafSpine& shape, const Links& links) {
  const std::uint32_t nics = shape.nics != 0 ? shape.nics : shape.leaves * shape.nics_per_leaf;
  Graph graph;
  add_nics(graph, nics);
  const auto leaves = add_switches(graph, shape.leaves, "leaf", 1);
  const auto spines = add_switches(graph, shape.spines, "spine", 2);
  for (std::uint32_t i = 0; i < nics; ++i) {
    graph.join(NodeId{i}, leaves[i / shape.nics_per_leaf], links.rate, links.delay);
  }
  join_all(graph, leaves, spines, links.trunk, links.between_switches());
  return graph;
}

}  // namespace nerve::sim
