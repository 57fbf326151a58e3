#include "base/check.h"
#include "sim/topology/pieces.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {

Graph fat_tree(std::uint32_t k, const Links& links, std::uint32_t nics) {
  CHECK(k >= 2 && k % 2 == 0);
  const std::uint32_t half = k / 2;
  const std::uint32_t count = nics != 0 ? nics : k * half * half;
  const std::uint32_t pods = (count + half * half - 1) / (half * half);
  CHECK(pods <= k);
  Graph graph;
  add_nics(graph, count);
  const auto edges = add_switches(graph, pods * half, "edge", 1);
  const auto middles = add_switches(graph, pods * half, "aggregation", 2);
  const auto cores = add_switches(graph, half * half, "core", 3);
  const Duration delay = links.between_switches();
  for (std::uint32_t i = 0; i < count; ++i) {
    graph.join(NodeId{i}, edges[i / half], links.rate, links.delay);
  }
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    for (std::uint32_t edge = 0; edge < half; ++edge) {
      for (std::uint32_t middle = 0; middle < half; ++middle) {
        graph.join(edges[pod * half + edge], middles[pod * half + middle], links.trunk, delay);
      }
    }
    for (std::uint32_t middle = 0; middle < half; ++middle) {
      for (std::uint32_t up = 0; up < half; ++up) {
        graph.join(middles[pod * half + middle], cores[middle * half + up], links.trunk, delay);
      }
    }
  }
  return graph;
}

}  // namespace nerve::sim
