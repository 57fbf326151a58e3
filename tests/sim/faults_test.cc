// Goal: a failed cable costs only the packets on it: the engine retransmits, routes avoid the
// cable, and no pause, credit or byte is lost permanently. Method: one fault at a time, in traffic
// that depends on it, with the bytes of every switch accounted at the end.
#include "sim/fabric/faults.h"

#include <gtest/gtest.h>

#include "sim/topology/build_network.h"
#include "sim/topology/topologies.h"
#include "tests/sim/times.h"
#include "tests/sim/traffic.h"

namespace nerve::sim::faults_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::microseconds_of;
using test::Traffic;

constexpr std::uint32_t kMessage = 4'096'000;  // 334 us at 100G

FabricConfig fabric(LinkKind kind) {
  FabricConfig config;
  config.kind = kind;
  return config;
}

Graph two_leaves() { return leaf_spine({.leaves = 2, .spines = 2, .nics_per_leaf = 2}, {}); }

FaultSpec fault(FaultKind kind, Duration at, const char* from, const char* to) {
  FaultSpec made;
  made.at = at;
  made.kind = kind;
  made.from = from;
  made.to = to;
  made.reroute = microseconds{200};
  return made;
}

std::string why_not(const Graph& graph, const FaultSpec& spec) {
  const auto found = Faults::find(graph, {&spec, 1});
  return found ? std::string{"found"} : found.error();
}

}  // namespace

class OnEachKind : public testing::TestWithParam<LinkKind> {};

TEST_P(OnEachKind, TrafficIsReroutedAroundAFailedCable) {
  Traffic traffic{two_leaves(), fabric(GetParam())};
  for (std::uint32_t i = 0; i < 4; ++i) traffic.add(NodeId{i}, NodeId{(i + 2) % 4}, kMessage);
  traffic.schedule({fault(FaultKind::kDown, microseconds{50}, "leaf0", "spine0")});
  traffic.run();
  EXPECT_GT(traffic.totals().dropped + traffic.totals().lost, 0U);
}

TEST_P(OnEachKind, RestoredCableCarriesTrafficAgain) {
  Traffic traffic{dumbbell(8, 1, {}), fabric(GetParam())};
  for (std::uint32_t i = 0; i < 8; ++i) traffic.add(NodeId{i}, NodeId{(i + 4) % 8}, kMessage);
  traffic.schedule({fault(FaultKind::kDown, microseconds{300}, "left", "right"),
                    fault(FaultKind::kUp, microseconds{700}, "left", "right"),
                    fault(FaultKind::kDown, microseconds{1200}, "left", "right"),
                    fault(FaultKind::kUp, microseconds{1300}, "left", "right")});
  traffic.run();
  EXPECT_GT(traffic.totals().lost, 0U);
  EXPECT_LT(microseconds_of(traffic.last_received()), 6000);
}

TEST_P(OnEachKind, SlowerCableTakesLonger) {
  Traffic traffic{star(2, {}), fabric(GetParam())};
  traffic.add(NodeId{0}, NodeId{1}, kMessage);
  FaultSpec slow = fault(FaultKind::kRate, microseconds{100}, "nic1", "switch");
  slow.rate = Rate::gigabits(25);
  traffic.schedule({slow, fault(FaultKind::kUp, microseconds{500}, "switch", "nic1")});
  traffic.run();
  // 100 us at full rate, 400 us at a quarter, the rest of 334 us at full rate.
  EXPECT_NEAR(microseconds_of(traffic.last_received()), 500 + 334 - 100 - 100, 12);
  EXPECT_EQ(traffic.totals().lost, 0U);
}

TEST_P(OnEachKind, DamagedPacketsAreRetransmitted) {
  Traffic traffic{star(2, {}), fabric(GetParam())};
  traffic.add(NodeId{0}, NodeId{1}, kMessage);
  FaultSpec noise = fault(FaultKind::kErrors, Duration{}, "nic1", "switch");
  noise.bit_error_rate = 3e-7;  // one packet in a hundred
  traffic.schedule({noise});
  traffic.run();
  EXPECT_GT(traffic.totals().lost, 2U);
  EXPECT_EQ(traffic.totals().dropped, 0U);
}

TEST_P(OnEachKind, IsolatedNicFailsItsMessages) {
  Traffic traffic{star(3, {}), fabric(GetParam())};
  traffic.add(NodeId{0}, NodeId{1}, kMessage);
  traffic.add(NodeId{1}, NodeId{2}, kMessage);
  traffic.add(NodeId{2}, NodeId{0}, kMessage);
  traffic.may_fail();
  traffic.schedule({fault(FaultKind::kDown, microseconds{100}, "nic1", "switch")});
  traffic.run();
  EXPECT_TRUE(traffic.messages()[0].failed);
  EXPECT_TRUE(traffic.messages()[1].failed);
  EXPECT_FALSE(traffic.messages()[2].failed);
}

TEST_P(OnEachKind, PauseStormBlocksOthersUntilItEnds) {
  // Both senders share the trunk; packets queued there for the pausing NIC block the other sender.
  Traffic traffic{dumbbell(4, 1, {}), fabric(GetParam())};
  traffic.add(NodeId{0}, NodeId{2}, kMessage);
  traffic.add(NodeId{1}, NodeId{3}, kMessage);
  FaultSpec storm = fault(FaultKind::kStorm, microseconds{50}, "nic2", "");
  storm.lasts = milliseconds{3};
  traffic.schedule({storm});
  traffic.run();
  EXPECT_EQ(traffic.totals().dropped, 0U);
  EXPECT_GT(microseconds_of(traffic.messages()[0].received), 3050);
}

INSTANTIATE_TEST_SUITE_P(Kinds, OnEachKind,
                         testing::Values(LinkKind::kEthernet, LinkKind::kInfiniBand),
                         [](const auto& which) {
                           return which.param == LinkKind::kEthernet ? "Ethernet" : "InfiniBand";
                         });

TEST(Faults, PauseEndsWhenTheCableFails) {
  FabricConfig config = fabric(LinkKind::kEthernet);
  config.buffer.bytes = 1'000'000;
  Traffic traffic{star(9, {}), config};
  for (std::uint32_t i = 0; i < 8; ++i) traffic.add(NodeId{i}, NodeId{8}, kMessage);
  std::vector<FaultSpec> faults;
  for (const char* nic : {"nic0", "nic3", "nic8"}) {
    faults.push_back(fault(FaultKind::kDown, microseconds{200}, nic, "switch"));
    faults.push_back(fault(FaultKind::kUp, microseconds{230}, nic, "switch"));
  }
  traffic.schedule(faults);
  traffic.run();
  EXPECT_GT(traffic.totals().pauses, 0U);
  for (const Port& port : traffic.world().fabric().ports()) EXPECT_EQ(port.paused, 0U);
}

TEST(Faults, CreditsAreRestoredAfterACableFailure) {
  FabricConfig config = fabric(LinkKind::kInfiniBand);
  Traffic traffic{dumbbell(8, 1, {}), config};
  for (std::uint32_t i = 0; i < 4; ++i) traffic.add(NodeId{i}, NodeId{i + 4}, kMessage);
  std::vector<FaultSpec> faults;
  for (const int at : {100, 300, 450}) {
    faults.push_back(fault(FaultKind::kDown, microseconds{at}, "right", "left"));
    faults.push_back(fault(FaultKind::kUp, microseconds{at + 20}, "right", "left"));
    faults.push_back(fault(FaultKind::kDown, microseconds{at + 7}, "right", "nic5"));
    faults.push_back(fault(FaultKind::kUp, microseconds{at + 9}, "right", "nic5"));
  }
  traffic.schedule(faults);
  traffic.run();
  for (const Port& port : traffic.world().fabric().ports()) {
    for (const std::uint32_t credits : port.credits) EXPECT_EQ(credits, config.lane_buffer);
  }
}

TEST(Faults, NicWithTwoPortsFailsOver) {
  NetworkSpec spec;
  spec.topology = TopologyKind::kDualPlane;
  spec.nic_rate = Rate::gigabits(100);
  spec.nics_per_leaf = 2;
  const auto graph = build_network(spec, {4, 1});
  ASSERT_TRUE(graph) << graph.error();
  for (const bool fails : {false, true}) {
    Traffic traffic{*graph, fabric(LinkKind::kEthernet)};
    for (std::uint32_t i = 0; i < 4; ++i) {
      for (int k = 0; k < 2; ++k) traffic.add(NodeId{i}, NodeId{(i + 2) % 4}, kMessage / 2);
    }
    if (fails) {
      traffic.schedule({fault(FaultKind::kDown, microseconds{100}, "nic0", "plane0-leaf0")});
    }
    traffic.run();
    if (!fails) {
      EXPECT_EQ(traffic.totals().lost, 0U);
      // Both ports together: as fast as one cable of the full rate.
      EXPECT_NEAR(microseconds_of(traffic.last_received()), 340, 10);
    }
    for (const Port& port : traffic.world().fabric().ports()) {
      EXPECT_GT(port.sent_bytes, fails ? 0U : 100'000U);
    }
  }
}

TEST(Faults, TwoNetworksInOneGraphHaveTheirOwnKindsAndSettings) {
  const Graph both = merge(star(4, {}), dumbbell(4, 1, {}));
  EXPECT_EQ(both.nodes[5].name, "front-nic0");
  FabricConfig ethernet = fabric(LinkKind::kEthernet);
  ethernet.buffer = {.bytes = 100'000, .lossless = 0};
  Traffic traffic{both, {fabric(LinkKind::kInfiniBand), ethernet}};
  for (std::uint32_t i = 0; i < 3; ++i) traffic.add(NodeId{i}, NodeId{3}, kMessage);
  traffic.add(NodeId{5}, NodeId{8}, kMessage);
  traffic.add(NodeId{6}, NodeId{8}, kMessage);
  traffic.schedule({fault(FaultKind::kDown, milliseconds{20}, "front-left", "front-right")});
  traffic.run();
  std::uint64_t dropped[2]{};
  for (const Port& port : traffic.world().fabric().ports()) {
    dropped[port.network] += port.counters.dropped_packets;
  }
  EXPECT_EQ(dropped[0], 0U);
  EXPECT_GT(dropped[1], 0U);
}

TEST(Faults, RejectsUnknownCables) {
  const Graph graph = two_leaves();
  EXPECT_EQ(why_not(graph, fault(FaultKind::kDown, {}, "leaf0", "spine1")), "found");
  EXPECT_EQ(why_not(graph, fault(FaultKind::kDown, {}, "laef0", "spine1")),
            "fault 1: no node is named \"laef0\"; the nearest is \"leaf0\"");
  EXPECT_EQ(why_not(graph, fault(FaultKind::kDown, {}, "leaf0", "")),
            "fault 1: no node is named \"\"");
  EXPECT_EQ(why_not(graph, fault(FaultKind::kDown, {}, "leaf0", "leaf1")),
            "fault 1: no cable joins leaf0 and leaf1");
  EXPECT_EQ(why_not(graph, fault(FaultKind::kStorm, {}, "leaf0", "")),
            "fault 1: leaf0 is a switch; a storm comes from a NIC");
  EXPECT_EQ(why_not(graph, fault(FaultKind::kRate, {}, "leaf0", "spine1")),
            "fault 1: a rate below 1 Mb/s; a cable that carries nothing is \"down\"");
  FaultSpec noise = fault(FaultKind::kErrors, {}, "leaf0", "spine1");
  noise.bit_error_rate = 2;
  EXPECT_EQ(why_not(graph, noise), "fault 1: a bit error rate that is not between 0 and 1");
  EXPECT_EQ(why_not(graph, fault(FaultKind::kDown, Duration{-1}, "leaf0", "spine1")),
            "fault 1: a time before the beginning");
}

}  // namespace nerve::sim::faults_test
