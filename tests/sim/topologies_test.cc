// Goal: every topology has the switches, cables and paths of its shape. Method: counts by formula,
// walks along every path between all NICs, and the bisection bandwidth as a maximum flow.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>

#include "sim/fabric/routes.h"
#include "sim/topology/build_network.h"

namespace nerve::sim {
namespace {

constexpr std::uint64_t kGiga = 1'000'000'000;

struct Case {
  const char* name;
  NetworkSpec spec;
  NetworkHosts hosts;
  std::size_t switches;
  std::size_t cables;
  std::uint32_t longest;    // cables between two NICs
  std::uint64_t bisection;  // Gb/s from the first half of the NICs to the second
  std::uint32_t rails{};    // not zero: NICs of different rails cannot reach each other
};

NetworkSpec spec_of(TopologyKind kind) {
  NetworkSpec spec;
  spec.topology = kind;
  spec.nic_rate = Rate::gigabits(100);
  return spec;
}

std::vector<Case> cases() {
  NetworkSpec dumbbell = spec_of(TopologyKind::kDumbbell);
  dumbbell.trunks = 3;
  NetworkSpec leaves = spec_of(TopologyKind::kLeafSpine);
  leaves.nics_per_leaf = 8;
  NetworkSpec half = leaves;
  half.oversubscription = 2;
  NetworkSpec fast = half;
  fast.trunk_rate = Rate::gigabits(400);
  NetworkSpec rails = spec_of(TopologyKind::kRailOptimised);
  rails.nics_per_leaf = 4;
  NetworkSpec planes = spec_of(TopologyKind::kDualPlane);
  planes.nics_per_leaf = 4;
  planes.trunk_rate = Rate::gigabits(50);
  NetworkSpec dragonfly = spec_of(TopologyKind::kDragonfly);
  dragonfly.routers_per_group = 4;
  dragonfly.nics_per_router = 2;
  dragonfly.cables_out_of_router = 2;
  return {
      {"Star", spec_of(TopologyKind::kStar), {5, 2}, 1, 10, 2, 500},
      {"Dumbbell", dumbbell, {5, 2}, 2, 13, 3, 300},
      {"LeafSpine", leaves, {4, 8}, 4 + 8, 32 + 4 * 8, 4, 1600},
      {"LeafSpineTwoToOne", half, {4, 8}, 4 + 4, 32 + 4 * 4, 4, 800},
      {"LeafSpineFastTrunks", fast, {4, 8}, 4 + 1, 32 + 4, 4, 800},
      {"LeafSpinePartly", leaves, {5, 4}, 3 + 8, 20 + 3 * 8, 4, 1000},
      {"FatTree", spec_of(TopologyKind::kFatTree), {16, 1}, 20, 48, 6, 800},
      {"FatTreePartly", spec_of(TopologyKind::kFatTree), {9, 2}, 12 + 9, 18 + 2 * 18, 6, 900},
      {"Rails", rails, {8, 4}, 8 + 4, 32 + 8 * 4, 4, 1600},
      {"RailOnly", spec_of(TopologyKind::kRailOnly), {8, 4}, 4, 32, 2, 1600, 4},
      {"DualPlane", planes, {8, 4}, 2 * (8 + 4), 64 + 2 * 8 * 4, 4, 1600},
      // Nine groups: the maximum for eight ports per group.
      {"Dragonfly", dragonfly, {72, 1}, 36, 72 + 9 * 6 + 9 * 8 / 2, 5, 2400},
      {"DragonflySmall", dragonfly, {24, 1}, 12, 24 + 3 * 6 + 3 * 8 / 2, 4, 1200},
  };
}

// --- paths ---------------------------------------------------------------------------------------

// Follows all paths from a node to a NIC: the smallest and largest number of cables.
class Walker {
 public:
  Walker(const Graph& graph, const Routes& routes, NodeId to)
      : graph_{graph}, routes_{routes}, to_{to} {}

  struct Length {
    std::uint32_t least;
    std::uint32_t most;
    std::uint32_t between_groups;
  };
  Length from(NodeId at, std::uint32_t depth = 0) {
    if (at == to_) return {0, 0, 0};
    const auto known = known_.find(at.value());
    if (known != known_.end()) return known->second;
    Length length{1000, 0, 0};
    if (depth > 10) {
      ADD_FAILURE() << "a loop";
      return length;
    }
    for (const PortId by : routes_.ways(at, to_)) {
      EXPECT_EQ(graph_.node_at(by), at);
      const Length rest = from(graph_.node_at(Graph::other_end(by)), depth + 1);
      const bool over = graph_.cables[by.value() / 2].between_groups;
      length.least = std::min(length.least, rest.least + 1);
      length.most = std::max(length.most, rest.most + 1);
      length.between_groups =
          std::max(length.between_groups, rest.between_groups + (over ? 1U : 0U));
    }
    return known_[at.value()] = length;
  }

 private:
  const Graph& graph_;
  const Routes& routes_;
  NodeId to_;
  std::map<std::uint32_t, Length> known_;
};

std::vector<std::vector<NodeId>> switches_of_nics(const Graph& graph, std::uint32_t nics) {
  std::vector<std::vector<NodeId>> found(nics);
  for (const Cable& cable : graph.cables) {
    if (cable.a.value() < nics) found[cable.a.value()].push_back(cable.b);
  }
  return found;
}

// --- flow ----------------------------------------------------------------------------------------

// Augments along shortest paths (Edmonds and Karp). Capacities in Gb/s.
class Flow {
 public:
  explicit Flow(const Graph& graph) : left_(graph.nodes.size() + 2) {
    for (const Cable& cable : graph.cables) {
      const std::uint64_t rate = cable.rate.bits_per_second() / kGiga;
      left_[cable.a.value()][cable.b.value()] += rate;
      left_[cable.b.value()][cable.a.value()] += rate;
    }
  }
  std::uint64_t between_halves(std::uint32_t nics) {
    const auto source = static_cast<std::uint32_t>(left_.size() - 2);
    const std::uint32_t sink = source + 1;
    for (std::uint32_t i = 0; i < nics; ++i) {
      if (i < nics / 2) {
        left_[source][i] = 1'000'000;
      } else {
        left_[i][sink] = 1'000'000;
      }
    }
    std::uint64_t sum = 0;
    while (const std::uint64_t more = augment(source, sink)) sum += more;
    return sum;
  }

 private:
  std::uint64_t augment(std::uint32_t source, std::uint32_t sink) {
    std::vector<std::uint32_t> before(left_.size(), kNobody);
    std::deque<std::uint32_t> next{source};
    before[source] = source;
    while (!next.empty() && before[sink] == kNobody) {
      const std::uint32_t at = next.front();
      next.pop_front();
      for (const auto& [to, room] : left_[at]) {
        if (room == 0 || before[to] != kNobody) continue;
        before[to] = at;
        next.push_back(to);
      }
    }
    if (before[sink] == kNobody) return 0;
    std::uint64_t least = ~std::uint64_t{0};
    for (std::uint32_t at = sink; at != source; at = before[at]) {
      least = std::min(least, left_[before[at]][at]);
    }
    for (std::uint32_t at = sink; at != source; at = before[at]) {
      left_[before[at]][at] -= least;
      left_[at][before[at]] += least;
    }
    return least;
  }

  std::vector<std::map<std::uint32_t, std::uint64_t>> left_;
};

}  // namespace

class Topologies : public testing::TestWithParam<Case> {};

TEST_P(Topologies, HasTheCountsOfItsShape) {
  const auto graph = build_network(GetParam().spec, GetParam().hosts);
  ASSERT_TRUE(graph) << graph.error();
  const std::uint32_t nics = GetParam().hosts.servers * GetParam().hosts.nics_per_server;
  EXPECT_EQ(graph->nodes.size() - nics, GetParam().switches);
  EXPECT_EQ(graph->cables.size(), GetParam().cables);
  for (std::uint32_t i = 0; i < graph->nodes.size(); ++i) {
    EXPECT_EQ(graph->nodes[i].kind, i < nics ? NodeKind::kNic : NodeKind::kSwitch);
    EXPECT_EQ(graph->nodes[i].tier == 0, i < nics);
    if (i < nics) {
      EXPECT_EQ(graph->nodes[i].name, "nic" + std::to_string(i));
    }
  }
}

TEST_P(Topologies, EveryPathReachesItsNicAndIsShortest) {
  const auto graph = build_network(GetParam().spec, GetParam().hosts);
  ASSERT_TRUE(graph) << graph.error();
  const Routes routes{*graph};
  const std::uint32_t nics = GetParam().hosts.servers * GetParam().hosts.nics_per_server;
  const auto first = switches_of_nics(*graph, nics);
  const bool is_dragonfly = GetParam().spec.topology == TopologyKind::kDragonfly;
  std::uint32_t longest = 0;
  for (std::uint32_t to = 0; to < nics; ++to) {
    Walker walker{*graph, routes, NodeId{to}};
    for (std::uint32_t from = 0; from < nics; ++from) {
      if (from == to) continue;
      const std::uint32_t rails = GetParam().rails;
      if (rails != 0 && from % rails != to % rails) {
        EXPECT_EQ(routes.distance(NodeId{from}, NodeId{to}), 0U);
        continue;
      }
      for (const NodeId at : first[from]) {
        const auto length = walker.from(at);
        if (!is_dragonfly) {
          EXPECT_EQ(length.least, length.most);
        }
        EXPECT_LE(length.between_groups, 1U);
        EXPECT_EQ(length.least + 1, routes.distance(NodeId{from}, NodeId{to}));
        longest = std::max(longest, length.most + 1);
      }
    }
  }
  EXPECT_EQ(longest, GetParam().longest);
}

TEST_P(Topologies, BisectionBandwidthIsAsExpected) {
  const auto graph = build_network(GetParam().spec, GetParam().hosts);
  ASSERT_TRUE(graph) << graph.error();
  const std::uint32_t nics = GetParam().hosts.servers * GetParam().hosts.nics_per_server;
  EXPECT_EQ(Flow{*graph}.between_halves(nics), GetParam().bisection);
}

INSTANTIATE_TEST_SUITE_P(All, Topologies, testing::ValuesIn(cases()),
                         [](const auto& which) { return std::string{which.param.name}; });

TEST(BuildNetwork, LeafConnectsTheSameNicOfEachServer) {
  NetworkSpec spec = spec_of(TopologyKind::kRailOptimised);
  spec.nics_per_leaf = 4;
  const auto graph = build_network(spec, {8, 2});
  ASSERT_TRUE(graph) << graph.error();
  // NIC 1 of server 5: group 1, rail 1.
  const auto cable = std::ranges::find(graph->cables, NodeId{11}, &Cable::a);
  EXPECT_EQ(graph->nodes[cable->b.value()].name, "leaf3");
}

TEST(BuildNetwork, PlanesAreNotConnected) {
  const auto graph = build_network(spec_of(TopologyKind::kDualPlane), {4, 2});
  ASSERT_TRUE(graph) << graph.error();
  for (const Cable& cable : graph->cables) {
    const std::string& a = graph->nodes[cable.a.value()].name;
    const std::string& b = graph->nodes[cable.b.value()].name;
    if (a.starts_with("nic")) {
      EXPECT_EQ(cable.rate, Rate::gigabits(50));
    } else {
      EXPECT_EQ(a.substr(0, 6), b.substr(0, 6)) << a << " " << b;
    }
  }
}

TEST(BuildNetwork, OversubscriptionDeterminesTheTrunkRateOfGivenSpines) {
  NetworkSpec spec = spec_of(TopologyKind::kLeafSpine);
  spec.nics_per_leaf = 8;
  spec.spines = 2;
  spec.oversubscription = 2;
  const auto graph = build_network(spec, {4, 8});
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_EQ(graph->cables.back().rate, Rate::gigabits(200));
}

TEST(BuildNetwork, LargeNetworkIsBuiltAndRoutedInLittleMemory) {
  const auto graph = build_network(spec_of(TopologyKind::kFatTree), {8192, 1});
  ASSERT_TRUE(graph) << graph.error();
  EXPECT_EQ(graph->nodes.size(), 8192U + 5 * 32 * 32 / 4);
  const Routes routes{*graph};
  EXPECT_LT(routes.bytes(), 5'000'000U);
  EXPECT_EQ(routes.distance(NodeId{0}, NodeId{8191}), 6U);
}

TEST(BuildNetwork, RejectsImpossibleNetworksWithASuggestion) {
  const auto why = [](NetworkSpec spec, NetworkHosts hosts) {
    const auto graph = build_network(spec, hosts);
    return graph ? std::string{"built"} : graph.error();
  };
  NetworkSpec spec = spec_of(TopologyKind::kFatTree);
  spec.ports_per_switch = 8;
  EXPECT_EQ(why(spec, {130, 1}),
            "fat tree of k = 8 has room for 128 NICs, the scenario has 130: ports_per_switch = 10 "
            "has room for 250");
  spec.ports_per_switch = 7;
  EXPECT_EQ(
      why(spec, {16, 1}),
      "ports_per_switch = 7: a fat tree needs an even number, 2 to 256; 4 has room for 16 NICs");
  EXPECT_EQ(why(spec_of(TopologyKind::kStar), {0, 1}),
            "the network has no NICs; it needs at least one server with one NIC");
  EXPECT_EQ(why(spec_of(TopologyKind::kStar), {0xffff'ffff, 0xffff'ffff}).substr(0, 40),
            "18446744065119617025 NICs: at most 10485");
  spec = spec_of(TopologyKind::kDumbbell);
  spec.trunks = 0;
  EXPECT_EQ(why(spec, {4, 1}),
            "trunks = 0: a dumbbell has from 1 to 1023 cables between its switches");
  spec = spec_of(TopologyKind::kRailOnly);
  spec.nics_per_leaf = 4;
  EXPECT_EQ(why(spec, {8, 4}),
            "rail-only has one switch for each rail, with room for nics_per_leaf = 4 servers, the "
            "scenario has 8; use nics_per_leaf = 8, or rail-optimised, which has spines");
  spec = spec_of(TopologyKind::kLeafSpine);
  spec.nics_per_leaf = 8;
  spec.spines = 4;
  spec.trunk_rate = Rate::gigabits(100);
  spec.oversubscription = 4;
  EXPECT_EQ(why(spec, {4, 8}),
            "a leaf has 800G downwards and 4 x 100G upwards, which is 2:1; the scenario has "
            "oversubscription 4:1; leave one of the three out");
  spec.oversubscription = 0;
  EXPECT_EQ(why(spec, {4, 8}), "oversubscription must be from 0.01 to 1000");
  spec = spec_of(TopologyKind::kDragonfly);
  spec.cables_out_of_router = 1;
  EXPECT_EQ(
      why(spec, {100, 1}),
      "dragonfly of a = 2, p = 1, h = 1 has room for 6 NICs, the scenario has 100: "
      "routers_per_group = 6, nics_per_router = 3, cables_out_of_router = 3 has room for 342");
  spec = spec_of(TopologyKind::kStar);
  spec.nic_rate = Rate{};
  EXPECT_EQ(why(spec, {4, 1}), "nic_rate = 0 bit/s: must be from 1 Mb/s to 100 Tb/s");
  spec.nic_rate = Rate::gigabits(800);
  spec.nic_delay = std::chrono::milliseconds{1};
  EXPECT_EQ(why(spec, {4, 1}),
            "switch reserves 800.1 MB for PFC at its 4 ports, its buffer has 33.6 MB: a buffer of "
            "1600.1 MB, shorter cables, smaller switches or no PFC would do");
  spec.switches.kind = LinkKind::kInfiniBand;
  EXPECT_EQ(why(spec, {4, 1}), "built");
  spec.switches.lane_buffer = 1000;
  EXPECT_EQ(why(spec, {4, 1}),
            "lane_buffer = 1000 bytes: packets have up to 4224 and could not be sent");
  spec = spec_of(TopologyKind::kFile);
  spec.file = "/nonexistent/graph.txt";
  EXPECT_EQ(why(spec, {4, 1}), "/nonexistent/graph.txt: cannot be read");
}

}  // namespace nerve::sim
