// Goal: Routes returns all shortest paths and no other. Method: shapes with a known number of
// paths, and walks along them.
#include "sim/fabric/routes.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {
namespace {

// Follows random ports; returns the number of cables.
std::uint32_t walk(const Graph& graph, const Routes& routes, NodeId from, NodeId to, Prng& prng) {
  NodeId at = from;
  for (std::uint32_t cables = 0; cables < 20; ++cables) {
    if (at == to) return cables;
    PortId by = kNoPort;
    if (graph.nodes[at.value()].kind == NodeKind::kNic) {
      for (std::uint32_t p = 0; p < graph.ports(); ++p) {
        if (graph.node_at(PortId{p}) == at) by = PortId{p};
      }
    } else {
      const auto ways = routes.ways(at, to);
      if (ways.empty()) return 0;
      by = ways[prng.below(ways.size())];
    }
    EXPECT_EQ(graph.node_at(by), at);
    at = graph.node_at(Graph::other_end(by));
  }
  return 0;
}

}  // namespace

TEST(Routes, FatTreeUsesAllPathsThroughTheCore) {
  const Graph graph = fat_tree(4, {});
  EXPECT_EQ(graph.nodes.size(), 16U + 8 + 8 + 4);
  EXPECT_EQ(graph.cables.size(), 16U * 3);
  const Routes routes{graph};
  EXPECT_EQ(routes.distance(NodeId{0}, NodeId{1}), 2U);
  EXPECT_EQ(routes.distance(NodeId{0}, NodeId{2}), 4U);
  EXPECT_EQ(routes.distance(NodeId{0}, NodeId{15}), 6U);
  const NodeId edge{16};
  EXPECT_EQ(routes.ways(edge, NodeId{0}).size(), 1U);
  EXPECT_EQ(routes.ways(edge, NodeId{15}).size(), 2U);
  Prng prng{3};
  for (std::uint32_t from = 0; from < 16; ++from) {
    for (std::uint32_t to = 0; to < 16; ++to) {
      if (from == to) continue;
      EXPECT_EQ(walk(graph, routes, NodeId{from}, NodeId{to}, prng),
                routes.distance(NodeId{from}, NodeId{to}));
    }
  }
}

TEST(Routes, ANicMayHaveSeveralCables) {
  Graph graph;
  const NodeId one = graph.add(NodeKind::kNic, "one", 0);
  const NodeId other = graph.add(NodeKind::kNic, "other", 0);
  const NodeId left = graph.add(NodeKind::kSwitch, "left", 1);
  const NodeId right = graph.add(NodeKind::kSwitch, "right", 1);
  graph.join(one, left, Rate::gigabits(100), {});
  graph.join(right, one, Rate::gigabits(100), {});
  graph.join(one, left, Rate::gigabits(100), {});
  graph.join(other, left, Rate::gigabits(100), {});
  graph.join(left, right, Rate::gigabits(100), {});
  const Routes routes{graph};
  ASSERT_EQ(routes.ways(left, one).size(), 2U);
  EXPECT_EQ(routes.ways(left, one)[0], PortId{1});
  EXPECT_EQ(routes.ways(left, one)[1], PortId{5});
  ASSERT_EQ(routes.ways(right, one).size(), 1U);
  EXPECT_EQ(routes.ways(right, one)[0], PortId{2});
  EXPECT_EQ(routes.distance(other, one), 2U);
  EXPECT_EQ(routes.ways(right, other)[0], PortId{9});
  // Both left cables are down: use the right one.
  const Routes fewer{graph, {true, false, true, false, false}};
  ASSERT_EQ(fewer.ways(left, one).size(), 1U);
  EXPECT_EQ(fewer.ways(left, one)[0], PortId{8});
  EXPECT_EQ(fewer.distance(other, one), 3U);
}

TEST(Routes, EqualCostPortsAreLimited) {
  const Graph graph = dumbbell(2, 2000, {});
  const Routes routes{graph};
  EXPECT_EQ(routes.ways(NodeId{2}, NodeId{1}).size(), Routes::kMostWays);
  EXPECT_EQ(routes.distance(NodeId{0}, NodeId{1}), 3U);
}

TEST(Routes, AvoidsCablesThatAreDown) {
  const Graph graph = leaf_spine({.leaves = 2, .spines = 2, .nics_per_leaf = 1}, {});
  std::vector<bool> down(graph.cables.size());
  EXPECT_EQ(Routes(graph, down).ways(NodeId{2}, NodeId{1}).size(), 2U);
  down[2] = true;  // leaf 0 to spine 0
  const Routes fewer{graph, down};
  EXPECT_EQ(fewer.ways(NodeId{2}, NodeId{1}).size(), 1U);
  down[3] = true;  // and to spine 1
  const Routes none{graph, down};
  EXPECT_TRUE(none.ways(NodeId{2}, NodeId{1}).empty());
  EXPECT_EQ(none.distance(NodeId{0}, NodeId{1}), 0U);
}

}  // namespace nerve::sim
