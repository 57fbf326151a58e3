#include "sim/topology/pieces.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {

namespace {

// Adds leaves and spines above the existing NICs.
void add_plane(Graph& graph, const Rails& shape, const Links& links, const std::string& prefix) {
  const std::uint32_t groups =
      (shape.servers + shape.servers_per_leaf - 1) / shape.servers_per_leaf;
  const auto leaves = add_switches(graph, groups * shape.rails, prefix + "leaf", 1);
  const auto spines = add_switches(graph, shape.spines, prefix + "spine", 2);
  for (std::uint32_t i = 0; i < shape.servers * shape.rails; ++i) {
    const std::uint32_t group = i / shape.rails / shape.servers_per_leaf;
    const std::uint32_t rail = i % shape.rails;
    graph.join(NodeId{i}, leaves[group * shape.rails + rail], links.rate, links.delay);
  }
  join_all(graph, leaves, spines, links.trunk, links.between_switches());
}

}  // namespace

Graph rails(const Rails& shape, const Links& links) {
  Graph graph;
  add_nics(graph, shape.servers * shape.rails);
  add_plane(graph, shape, links, "");
  return graph;
}

Graph dual_plane(const Rails& shape, const Links& links) {
  Graph graph;
  add_nics(graph, shape.servers * shape.rails);
  add_plane(graph, shape, links, "plane0-");
  add_plane(graph, shape, links, "plane1-");
  return graph;
}

}  // namespace nerve::sim
