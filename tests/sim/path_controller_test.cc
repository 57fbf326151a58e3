// Goal: the controller spreads QPs over paths as evenly as the network allows, keeps them off
// cables that have failed, and forgets QPs that have ended. Method: the controller alone on built
// fabrics, with its counts checked against paths followed here; then scenarios beside ECMP and
// spraying.
#include "sim/control/path_controller.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/topology/topologies.h"

namespace nerve::sim::path_controller_test {
namespace {

constexpr std::uint32_t kLeaves = 8;
constexpr std::uint32_t kNicsPerLeaf = 8;
constexpr std::uint32_t kSpines = 8;

Graph leaves_and_spines() {
  return leaf_spine({.leaves = kLeaves, .spines = kSpines, .nics_per_leaf = kNicsPerLeaf}, {});
}

Fabric fabric_of(const Graph& graph) {
  FabricConfig config;
  config.path_choice = PathChoice::kControlled;
  return Fabric{1, graph, {config}};
}

QpEnds ends_of(std::uint32_t from, std::uint32_t to) {
  return {NodeId{from}, NodeId{to}, Qpn{100 + from}, Qpn{200 + to}};
}

std::uint32_t admit(PathController& controller, std::uint32_t from, std::uint32_t to,
                    std::uint32_t qp = 0) {
  controller.introduce(ends_of(from, to), QpNumber{qp});
  const auto label = controller.admit(NodeId{from}, QpNumber{qp});
  EXPECT_TRUE(label);
  return label.value_or(0);
}

// The ports between switches on the path that the switches would choose.
std::vector<PortId> path_of(const Fabric& fabric, const QpEnds& ends, std::uint32_t label) {
  std::vector<PortId> path;
  NodeId at =
      fabric.ports()[fabric.ports()[fabric.first_port(ends.from).value()].peer.value()].node;
  while (at != ends.to) {
    const PortId by = fabric.hashed_way(at, ends.to, ends.hash(label));
    at = fabric.ports()[fabric.ports()[by.value()].peer.value()].node;
    if (at != ends.to) path.push_back(by);
  }
  return path;
}

std::uint32_t most_loaded(const PathController& controller, const Fabric& fabric) {
  std::uint32_t most = 0;
  for (std::uint32_t i = 0; i < fabric.ports().size(); ++i) {
    most = std::max(most, controller.load(PortId{i}));
  }
  return most;
}

double microseconds_for(const std::string& text, std::uint32_t cores = 1) {
  const auto scenario = read_scenario(text, "controlled.toml", {});
  EXPECT_TRUE(scenario) << text_of(scenario.error()[0]);
  if (!scenario) return 0;
  RunOptions options;
  options.cores = cores;
  const auto result = run(*scenario, options);
  EXPECT_TRUE(result) << result.error();
  if (!result) return 0;
  EXPECT_TRUE(result->jobs[0].done) << result->jobs[0].trouble;
  return static_cast<double>((result->jobs[0].end - result->jobs[0].start).count()) / 1e6;
}

std::string ring_of_64(const std::string& routing, const std::string& rest = "") {
  return "[servers]\ncount = 64\ngpus = 1\n[fabric]\ntopology = \"leaf-spine\"\n"
         "nic_rate = \"100 Gb/s\"\nnics_per_leaf = 8\nspines = 8\nrouting = \"" +
         routing +
         "\"\n[nic]\ncongestion = \"none\"\nrecovery = \"selective-repeat\"\nqps_per_pair = 4\n"
         "[[job]]\nkind = \"all-reduce\"\nalgorithm = \"ring\"\nplacement = \"random\"\n"
         "size = \"4 MB\"\n" +
         rest;
}

}  // namespace

TEST(PathController, TheLabelLeadsAlongThePathThatItCounts) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  const std::uint32_t label = admit(controller, 0, 63);
  const std::vector<PortId> path = path_of(fabric, ends_of(0, 63), label);
  ASSERT_EQ(path.size(), 2U);
  for (const PortId port : path) EXPECT_EQ(controller.load(port), 1U);
  EXPECT_EQ(most_loaded(controller, fabric), 1U);
}

TEST(PathController, AShiftByOneLeafHasACableForEachQp) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  for (std::uint32_t i = 0; i < 64; ++i) admit(controller, i, (i + kNicsPerLeaf) % 64);
  EXPECT_EQ(most_loaded(controller, fabric), 1U);
}

TEST(PathController, SeveralQpsOfAllPairsAreSpreadEvenly) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  for (std::uint32_t from = 0; from < 64; ++from) {
    for (std::uint32_t to = 0; to < 64; ++to) {
      if (from != to) admit(controller, from, to, to);
    }
  }
  // 8 NICs with 56 QPs to other leaves each, over 8 cables.
  EXPECT_LE(most_loaded(controller, fabric), 58U);
}

TEST(PathController, QpsWithinALeafUseNoCableBetweenSwitches) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  admit(controller, 0, 1);
  EXPECT_EQ(most_loaded(controller, fabric), 0U);
}

TEST(PathController, MovesQpsSoThatAllFit) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    PathController controller{fabric};
    std::vector<std::uint32_t> order(64);
    std::iota(order.begin(), order.end(), 0U);
    Prng prng{seed};
    for (std::size_t i = 63; i > 0; --i) std::swap(order[i], order[prng.below(i + 1)]);
    for (std::uint32_t i = 0; i < 64; ++i) admit(controller, order[i], order[(i + 1) % 64]);
    EXPECT_TRUE(controller.may_improve());
    (void)controller.improve();
    EXPECT_EQ(most_loaded(controller, fabric), 1U) << "seed " << seed;
    EXPECT_FALSE(controller.may_improve());
    EXPECT_TRUE(controller.improve().empty()) << "seed " << seed;
  }
}

TEST(PathController, QpsThatOnlyReceiveCountNothingButLeaveAFailedCable) {
  const Graph graph = leaves_and_spines();
  Fabric fabric = fabric_of(graph);
  FabricPart only;
  FabricPart* const part = &only;
  fabric.divide(std::vector<std::uint16_t>(graph.nodes.size()), {&part, 1});
  PathController controller{fabric};
  controller.introduce(ends_of(0, 63), QpNumber{0});
  EXPECT_EQ(most_loaded(controller, fabric), 0U);
  fabric.take_down(CableId{path_of(fabric, ends_of(0, 63), 0)[0].value() / 2});
  const auto orders = controller.cables_changed();
  ASSERT_EQ(orders.size(), 1U);
  for (const PortId port : path_of(fabric, ends_of(0, 63), orders[0].label)) {
    EXPECT_TRUE(fabric.port(port).up);
  }
  EXPECT_EQ(most_loaded(controller, fabric), 0U);
}

TEST(PathController, QpsOfAPairShareAPath) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  constexpr std::uint32_t kQps = 4;
  std::vector<std::uint32_t> labels;
  for (std::uint32_t i = 0; i < 64; ++i) {
    for (std::uint32_t qp = 0; qp < kQps; ++qp) {
      labels.push_back(admit(controller, i, (i + kNicsPerLeaf) % 64, qp));
    }
  }
  EXPECT_EQ(controller.sending(), 64 * kQps);
  EXPECT_EQ(most_loaded(controller, fabric), 1U);
  const auto path_of_qp = [&](std::uint32_t i, std::uint32_t qp) {
    return path_of(fabric, ends_of(i, (i + kNicsPerLeaf) % 64), labels[i * kQps + qp]);
  };
  for (std::uint32_t i = 0; i < 64; ++i) {
    for (std::uint32_t qp = 1; qp < kQps; ++qp) EXPECT_EQ(path_of_qp(i, qp), path_of_qp(i, 0));
  }
  // Another QP of each pair counts when the first has ended, and no cable is left counted.
  for (std::uint32_t i = 0; i < 64; ++i) controller.release(NodeId{i}, QpNumber{0});
  for (const PortId port : path_of_qp(0, 1)) EXPECT_EQ(controller.load(port), 1U);
  for (std::uint32_t i = 0; i < 64; ++i) {
    for (std::uint32_t qp = 1; qp < kQps; ++qp) controller.release(NodeId{i}, QpNumber{qp});
  }
  EXPECT_EQ(most_loaded(controller, fabric), 0U);
}

TEST(PathController, QpsOfAPairAreSpreadOverCablesSlowerThanTheirNic) {
  const Graph graph =
      leaf_spine({.leaves = kLeaves, .spines = kSpines, .nics_per_leaf = kNicsPerLeaf},
                 {.rate = Rate::gigabits(100), .trunk = Rate::gigabits(25)});
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  for (std::uint32_t qp = 0; qp < 4; ++qp) admit(controller, 0, 63, qp);
  EXPECT_EQ(most_loaded(controller, fabric), 1U);
}

TEST(PathController, MovesQpsWhenACableHasBecomeSlower) {
  const Graph graph = leaves_and_spines();
  Fabric fabric = fabric_of(graph);
  FabricPart only;
  FabricPart* const part = &only;
  fabric.divide(std::vector<std::uint16_t>(graph.nodes.size()), {&part, 1});
  PathController controller{fabric};
  const PortId slow = path_of(fabric, ends_of(0, 63), admit(controller, 0, 63))[0];
  fabric.slow_down(CableId{slow.value() / 2}, Rate::gigabits(1));
  // Decisions between the fault and the notice do not know of it.
  EXPECT_TRUE(controller.improve().empty());
  const auto orders = controller.cables_changed();
  ASSERT_EQ(orders.size(), 1U);
  EXPECT_NE(path_of(fabric, ends_of(0, 63), orders[0].label)[0], slow);
  EXPECT_EQ(controller.load(slow), 0U);
}

TEST(PathController, ReleasesQps) {
  const Graph graph = leaves_and_spines();
  const Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  for (std::uint32_t i = 0; i < 64; ++i) admit(controller, i, (i + kNicsPerLeaf) % 64);
  EXPECT_EQ(controller.sending(), 64U);
  EXPECT_FALSE(controller.admit(NodeId{0}, QpNumber{0}));  // sends already
  for (std::uint32_t i = 0; i < 64; ++i) controller.release(NodeId{i}, QpNumber{0});
  controller.release(NodeId{0}, QpNumber{0});  // already
  EXPECT_EQ(most_loaded(controller, fabric), 0U);
  EXPECT_EQ(controller.sending(), 0U);
  EXPECT_TRUE(controller.admit(NodeId{0}, QpNumber{0}));
}

TEST(PathController, MovesTheQpsOfAFailedCableAndNoOthers) {
  const Graph graph = leaves_and_spines();
  Fabric fabric = fabric_of(graph);
  std::vector<FabricPart> parts(1);
  FabricPart* const part = parts.data();
  const std::vector<std::uint16_t> all(graph.nodes.size());
  fabric.divide(all, {&part, 1});
  PathController controller{fabric};
  std::vector<std::uint32_t> labels;
  for (std::uint32_t i = 0; i < 64; ++i) {
    labels.push_back(admit(controller, i, (i + kNicsPerLeaf) % 64));
  }
  const PortId failed = path_of(fabric, ends_of(0, kNicsPerLeaf), labels[0])[0];
  fabric.take_down(CableId{failed.value() / 2});
  const std::vector<PathController::Order> orders = controller.cables_changed();
  // The cable carried one QP in each direction.
  ASSERT_EQ(orders.size(), 2U);
  for (const PathController::Order& order : orders) {
    const std::uint32_t from = order.nic.value();
    const auto path = path_of(fabric, ends_of(from, (from + kNicsPerLeaf) % 64), order.label);
    for (const PortId port : path) EXPECT_TRUE(fabric.port(port).up);
  }
  EXPECT_EQ(controller.load(failed), 0U);
  EXPECT_TRUE(controller.cables_changed().empty());
}

TEST(PathController, ChoosesAgainWhenTheRoutesHaveChanged) {
  const Graph graph = leaves_and_spines();
  Fabric fabric = fabric_of(graph);
  PathController controller{fabric};
  for (std::uint32_t i = 0; i < 64; ++i) admit(controller, i, (i + kNicsPerLeaf) % 64);
  std::vector<bool> down(graph.cables.size());
  down[fabric.routes()
           .ways(fabric.ports()[fabric.ports()[0].peer.value()].node, NodeId{63})[0]
           .value() /
       2] = true;
  fabric.reroute(down);
  const auto orders = controller.routes_changed();
  EXPECT_FALSE(orders.empty());
  EXPECT_LE(most_loaded(controller, fabric), 2U);  // eight QPs over seven cables
}

TEST(Controlled, ARingIsAsFastAsWithSpraying) {
  const double ecmp = microseconds_for(ring_of_64("ecmp"));
  const double spray = microseconds_for(ring_of_64("spray"));
  const double controlled = microseconds_for(ring_of_64("controlled"));
  EXPECT_LT(controlled, 1.03 * spray);
  EXPECT_LT(controlled, 0.9 * ecmp);
}

TEST(Controlled, QpsLeaveAFailedCableBeforeTheSwitchesReroute) {
  const std::string fault =
      "[[fault]]\nat = \"100 us\"\nkind = \"down\"\nfrom = \"leaf0\"\nto = \"spine0\"\n"
      "reroute = \"20 ms\"\n";
  const double ecmp = microseconds_for(ring_of_64("ecmp", fault));
  const double controlled = microseconds_for(ring_of_64("controlled", fault));
  EXPECT_GT(ecmp, 20'000);  // waits for the switches
  EXPECT_LT(controlled, 10'000);
}

// NICs of 400 Gb/s, 16 cables of 100 Gb/s out of each leaf. All four QPs of a pair are needed.
TEST(Controlled, PairsHaveAsManyQpsAsFillANic) {
  const auto with = [](const std::string& nic, const std::string& topology) {
    return microseconds_for("[servers]\ncount = 16\ngpus = 1\n[fabric]\ntopology = \"" + topology +
                            "\"\nspines = 16\nnics_per_leaf = 4\nrouting = \"controlled\"\n"
                            "[nic]\ncongestion = \"none\"\n" +
                            nic + "[[job]]\nkind = \"shift\"\nshift = 4\nsize = \"16 MB\"\n");
  };
  constexpr double kIdeal = 16e6 * 8 / 400e9 * 1e6;
  EXPECT_LT(with("", "leaf-spine"), 1.1 * kIdeal);
  EXPECT_GT(with("qps_per_pair = 1\n", "leaf-spine"), 3.9 * kIdeal);
  EXPECT_LT(with("", "dual-plane"), 1.1 * kIdeal);
}

TEST(Controlled, IsRefusedWhereThereIsNothingToChoose) {
  const auto refused = [](const std::string& rest) {
    const auto scenario =
        read_scenario("[servers]\ncount = 8\n[fabric]\nrouting = \"controlled\"\n" + rest +
                          "[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n",
                      "x.toml", {});
    return scenario ? std::string{"accepted"} : text_of(scenario.error()[0]);
  };
  EXPECT_EQ(refused("link = \"infiniband\"\n"),
            "x.toml:4: fabric.routing: \"controlled\" chooses UDP source ports, which InfiniBand "
            "does not have; use spray or adaptive");
  EXPECT_EQ(refused("[nic]\ntransport = \"tcp\"\n"),
            "x.toml:4: fabric.routing: \"controlled\" is for transport = \"rdma\"; use ecmp, "
            "flowlet or adaptive");
  EXPECT_EQ(refused("[nic]\nhash_by_qp = false\n"),
            "x.toml:4: fabric.routing: \"controlled\" chooses UDP source ports, but hash_by_qp = "
            "false hashes addresses only; leave hash_by_qp out");
}

}  // namespace nerve::sim::path_controller_test
