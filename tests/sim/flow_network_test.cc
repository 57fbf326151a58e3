// Goal: messages as flows take the paths and the time that they take with packets when nothing is
// lost. Method: small clusters with both fidelities, times by hand, faults.
#include "sim/fluid/flow_network.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/topology/topologies.h"
#include "tests/seeds.h"
#include "tests/sim/cluster_rig.h"

namespace nerve::sim::flow_network_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::ClusterRig;

constexpr std::uint64_t kMegabyte = 1'000'000;

SimulatedNetwork network(bool flows) {
  SimulatedNetwork one;
  one.nics.queue_depth = 16;
  one.nics.hash_by_qp = true;
  if (flows) one.flow = FlowTransport{};
  return one;
}

ClusterConfig hosts(std::uint32_t count) {
  ClusterConfig config;
  config.shape.servers = count;
  config.shape.gpus = 1;
  config.shape.nics = 1;
  return config;
}

struct Sent {
  std::uint32_t from;
  std::uint32_t to;
  std::uint64_t bytes;
};

// The arrival of each message, in picoseconds.
std::vector<std::uint64_t> arrivals(const Graph& graph, const SimulatedNetwork& one,
                                    const std::vector<Sent>& messages) {
  const auto nics = static_cast<std::uint32_t>(std::ranges::count_if(
      graph.nodes, [](const GraphNode& node) { return node.kind == NodeKind::kNic; }));
  ClusterRig rig{graph, {one}, hosts(nics), static_cast<std::uint32_t>(messages.size())};
  for (const Sent& message : messages) rig.send(message.from, message.to, message.bytes);
  rig.run();
  EXPECT_TRUE(rig.over);
  std::vector<std::uint64_t> times;
  for (std::uint32_t i = 0; i < messages.size(); ++i) {
    times.push_back(rig.job.delivered_at(i).picoseconds());
  }
  return times;
}

}  // namespace

// Neither the size nor the path may make a difference of a picosecond.
TEST(FlowNetwork, AMessageAloneTakesAsLongAsWithPackets) {
  const Graph graphs[]{star(4, {}), leaf_spine({.leaves = 4, .spines = 3, .nics_per_leaf = 2}, {}),
                       dumbbell(4, 2, {})};
  for (const Graph& graph : graphs) {
    for (const std::uint64_t bytes :
         std::vector<std::uint64_t>{1, 1000, 4096, 4097, 8192, 100'000, 4U << 20U, 10'000'000}) {
      EXPECT_EQ(arrivals(graph, network(true), {{0, 3, bytes}}),
                arrivals(graph, network(false), {{0, 3, bytes}}))
          << bytes << " bytes";
    }
  }
}

TEST(FlowNetwork, AMessageAloneTakesItsTimeByHand) {
  // A star of 100 Gb/s, cables of 1 us: one packet of 4096 + 62 + 20 bytes, twice.
  const auto times = arrivals(star(2, {}), network(true), {{0, 1, 4096}});
  EXPECT_EQ(times[0], 2 * ((4096 + 62 + 20) * 80 + 1'000'000U));
}

TEST(FlowNetwork, SendersShareAReceiver) {
  const auto alone = arrivals(star(4, {}), network(true), {{0, 3, 10 * kMegabyte}});
  const auto both =
      arrivals(star(4, {}), network(true), {{0, 3, 10 * kMegabyte}, {1, 3, 10 * kMegabyte}});
  EXPECT_EQ(both[0], both[1]);
  EXPECT_NEAR(static_cast<double>(both[0]), 2.0 * static_cast<double>(alone[0]), 5e6);
}

// Two flows meet on a cable between switches exactly when their packets would.
TEST(FlowNetwork, EcmpCollidesAsWithPackets) {
  const Graph graph = leaf_spine({.leaves = 2, .spines = 8, .nics_per_leaf = 8}, {});
  std::vector<Sent> messages;
  for (std::uint32_t i = 0; i < 8; ++i) messages.push_back({i, 8 + i, 8 * kMegabyte});
  const auto flows = arrivals(graph, network(true), messages);
  const auto packets = arrivals(graph, network(false), messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const auto time = static_cast<double>(packets[i]);
    EXPECT_NEAR(static_cast<double>(flows[i]), time, 0.05 * time) << "message " << i;
  }
  EXPECT_GT(*std::ranges::max_element(flows), *std::ranges::min_element(flows) * 3 / 2);
}

TEST(FlowNetwork, SprayedFlowsUseAllPaths) {
  const Graph graph = leaf_spine({.leaves = 2, .spines = 8, .nics_per_leaf = 8}, {});
  SimulatedNetwork sprayed = network(true);
  sprayed.fabric.path_choice = PathChoice::kSpray;
  std::vector<Sent> messages;
  for (std::uint32_t i = 0; i < 8; ++i) messages.push_back({i, 8 + i, 8 * kMegabyte});
  const auto times = arrivals(graph, sprayed, messages);
  const auto alone = arrivals(graph, sprayed, {messages[0]});
  for (const std::uint64_t time : times) EXPECT_EQ(time, alone[0]);
}

// The flow over leaf 2 uses one spine only, so the links of leaf 0 are divided.
TEST(FlowNetwork, LinksThatPathsUseInPartAreDivided) {
  Graph graph;
  for (int i = 0; i < 3; ++i) graph.add(NodeKind::kNic, "nic" + std::to_string(i), 0);
  std::vector<NodeId> leaves;
  for (int i = 0; i < 3; ++i) {
    leaves.push_back(graph.add(NodeKind::kSwitch, "leaf" + std::to_string(i), 1));
    graph.join(NodeId{static_cast<std::uint32_t>(i)}, leaves.back(), Rate::gigabits(100), {});
  }
  for (int i = 0; i < 2; ++i) {
    const NodeId spine = graph.add(NodeKind::kSwitch, "spine" + std::to_string(i), 2);
    for (int leaf = 0; leaf < (i == 0 ? 3 : 2); ++leaf) {
      graph.join(leaves[static_cast<std::size_t>(leaf)], spine, Rate::gigabits(40), {});
    }
  }
  SimulatedNetwork sprayed = network(true);
  sprayed.fabric.path_choice = PathChoice::kSpray;
  // From leaf 0: 80 Gb/s to leaf 1, 40 to leaf 2. Together: x/2 + y = 40 with y <= x/2.
  const auto first = arrivals(graph, sprayed, {{0, 1, 10 * kMegabyte}});
  const auto second = arrivals(graph, sprayed, {{0, 2, 10 * kMegabyte}});
  EXPECT_NEAR(static_cast<double>(second[0]), 2.0 * static_cast<double>(first[0]), 2e6);
  const auto both = arrivals(graph, sprayed, {{0, 1, 10 * kMegabyte}, {0, 2, 10 * kMegabyte}});
  // Fair: x = y = 80/3 Gb/s until both end.
  EXPECT_NEAR(static_cast<double>(both[0]), static_cast<double>(second[0]) * 1.5, 5e6);
}

TEST(FlowNetwork, ASlowerCableDelaysTheRest) {
  ClusterRig rig{star(2, {}), {network(true)}, hosts(2), 1};
  auto faults = Faults::find(rig.world.fabric().graph(),
                             std::vector<FaultSpec>{{.at = microseconds{400},
                                                     .kind = FaultKind::kRate,
                                                     .from = "nic1",
                                                     .to = "switch",
                                                     .rate = Rate::gigabits(50)}});
  ASSERT_TRUE(faults) << faults.error();
  rig.world.schedule(std::move(*faults));
  rig.send(0, 1, 10 * kMegabyte);
  rig.run();
  // 816 us at the full rate; from 400 us on, half of it.
  EXPECT_NEAR(rig.microseconds(0), 400 + (816 - 400) * 2, 6);
}

TEST(FlowNetwork, AFailedCableStallsItsFlowsUntilARetry) {
  ClusterRig rig{star(2, {}), {network(true)}, hosts(2), 1};
  const FaultSpec down{.at = microseconds{400},
                       .kind = FaultKind::kDown,
                       .from = "nic1",
                       .to = "switch",
                       .reroute = microseconds{10}};
  FaultSpec up = down;
  up.kind = FaultKind::kUp;
  up.at = microseconds{500};
  auto faults = Faults::find(rig.world.fabric().graph(), std::vector<FaultSpec>{down, up});
  ASSERT_TRUE(faults) << faults.error();
  rig.world.schedule(std::move(*faults));
  rig.send(0, 1, 10 * kMegabyte);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_NEAR(rig.microseconds(0), 816 + 16'000, 10);
  EXPECT_EQ(rig.world.flows()->counters().timeouts, 1U);
}

// The message is delivered in time, but the cable fails before its ACK is back.
TEST(FlowNetwork, AnAckThatIsLostIsSentAgainAfterATimeout) {
  ClusterRig rig{star(2, {}), {network(true)}, hosts(2), 1};
  const FaultSpec down{.at = std::chrono::nanoseconds{817'500},
                       .kind = FaultKind::kDown,
                       .from = "nic0",
                       .to = "switch",
                       .reroute = microseconds{10}};
  FaultSpec up = down;
  up.kind = FaultKind::kUp;
  up.at = microseconds{900};
  auto faults = Faults::find(rig.world.fabric().graph(), std::vector<FaultSpec>{down, up});
  ASSERT_TRUE(faults) << faults.error();
  rig.world.schedule(std::move(*faults));
  rig.send(0, 1, 10 * kMegabyte);
  rig.world.run(Time{std::chrono::seconds{10}});
  EXPECT_TRUE(rig.cluster.over());
  EXPECT_NEAR(rig.microseconds(0), 818, 3);
  EXPECT_NEAR(static_cast<double>(rig.world.now().picoseconds()) / 1e6, 818 + 16'000, 10);
}

TEST(FlowNetwork, AConnectionWithoutAPathFails) {
  ClusterRig rig{star(2, {}), {network(true)}, hosts(2), 1};
  auto faults = Faults::find(rig.world.fabric().graph(),
                             std::vector<FaultSpec>{{.at = microseconds{100},
                                                     .kind = FaultKind::kDown,
                                                     .from = "nic1",
                                                     .to = "switch",
                                                     .reroute = milliseconds{1}}});
  ASSERT_TRUE(faults) << faults.error();
  rig.world.schedule(std::move(*faults));
  rig.send(0, 1, 10 * kMegabyte);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(rig.job.failed_messages().size(), 1U);
  EXPECT_EQ(rig.job.deliveries(), 0U);
}

// Every message arrives once, what was sent is delivered, and each link carries its bytes.
TEST(FlowNetwork, BytesAreConserved) {
  nerve::test::for_each_seed(40, [](std::uint64_t seed) {
    Prng prng{seed};
    const Graph graph = leaf_spine({.leaves = 3, .spines = 3, .nics_per_leaf = 4}, {});
    SimulatedNetwork one = network(true);
    one.fabric.path_choice = prng.chance(500) ? PathChoice::kSpray : PathChoice::kEcmp;
    const std::uint32_t count = 60;
    ClusterRig rig{graph, {one}, hosts(12), count};
    std::uint64_t bytes = 0;
    std::uint64_t on_cable = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto from = static_cast<std::uint32_t>(prng.below(12));
      const auto to = static_cast<std::uint32_t>((from + prng.between(1, 11)) % 12);
      const std::uint64_t size = prng.between(1, 3 * kMegabyte);
      rig.send(from, to, size);
      bytes += size;
      on_cable += (size + 3) / 4 * 4 + 20 + ((size - 1) / 4096 + 1) * 82;
    }
    rig.run();
    EXPECT_TRUE(rig.over);
    FlowNetwork& flows = *rig.world.flows();
    EXPECT_EQ(flows.counters().sent_bytes, bytes);
    EXPECT_EQ(flows.counters().delivered_bytes, bytes);
    flows.count_ports();
    std::uint64_t left_nics = 0;
    std::uint64_t reached_nics = 0;
    for (const Port& port : rig.world.fabric().ports()) {
      const std::uint64_t sent = port.sent_bytes + port.sent_packets * Fabric::gap(port);
      if (port.switch_number == kNobody) left_nics += sent;
      if (port.switch_number != kNobody && !port.to_switch) reached_nics += sent;
    }
    const double error = 1e-5 * static_cast<double>(on_cable);
    EXPECT_NEAR(static_cast<double>(left_nics), static_cast<double>(on_cable), error);
    EXPECT_NEAR(static_cast<double>(reached_nics), static_cast<double>(on_cable), error);
  });
}

}  // namespace nerve::sim::flow_network_test
