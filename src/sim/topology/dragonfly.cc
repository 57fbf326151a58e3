#include "sim/topology/pieces.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {

namespace {

// Each group has one port for each other group, then a second one for each, and so on while ports
// are left. The ports for the group `ahead` positions further round the circle are ahead - 1, ahead
// - 1 + (groups - 1), ... Port p belongs to router p / cables_out.
void join_groups(Graph& graph, const std::vector<NodeId>& routers, const Dragonfly& shape,
                 const Links& links) {
  if (shape.groups < 2) return;
  const std::uint32_t others = shape.groups - 1;
  const std::uint32_t copies = shape.routers * shape.cables_out / others;
  const auto router = [&](std::uint32_t group, std::uint32_t port) {
    return routers[group * shape.routers + port / shape.cables_out];
  };
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    for (std::uint32_t ahead = 1; ahead <= others; ++ahead) {
      const std::uint32_t there = (group + ahead) % shape.groups;
      if (there < group) continue;  // already connected from the other side
      for (std::uint32_t copy = 0; copy < copies; ++copy) {
        const std::uint32_t here_port = copy * others + ahead - 1;
        const std::uint32_t there_port = copy * others + (shape.groups - ahead) - 1;
        graph
            .join(router(group, here_port), router(there, there_port), links.trunk,
                  links.between_switches())
            .between_groups = true;
      }
    }
  }
}

}  // namespace

Graph dragonfly(const Dragonfly& shape, const Links& links) {
  const std::uint32_t routers = shape.groups * shape.routers;
  const std::uint32_t nics = shape.nics != 0 ? shape.nics : routers * shape.nics_per_router;
  Graph graph;
  add_nics(graph, nics);
  const auto all = add_switches(graph, routers, "router", 1);
  for (std::uint32_t i = 0; i < nics; ++i) {
    graph.join(NodeId{i}, all[i / shape.nics_per_router], links.rate, links.delay);
  }
  for (std::uint32_t group = 0; group < shape.groups; ++group) {
    for (std::uint32_t a = 0; a < shape.routers; ++a) {
      for (std::uint32_t b = a + 1; b < shape.routers; ++b) {
        graph.join(all[group * shape.routers + a], all[group * shape.routers + b], links.trunk,
                   links.between_switches());
      }
    }
  }
  join_groups(graph, all, shape, links);
  return graph;
}

}  // namespace nerve::sim
