#include "controller/path_planner.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/controller/fabric.h"
#include "tests/seeds.h"

namespace nerve::controller {
namespace {

using Counts = std::vector<std::uint32_t>;

// A port whose packets from host 1 to host 2 pass this router.
std::uint16_t port_over(const Fabric& fabric, std::uint32_t middle, std::uint32_t from = 1,
                        std::uint32_t to = 2, std::uint16_t first = kFirstSourcePort + 5000) {
  LiveFlow flow{.source = Fabric::host(from), .destination = Fabric::host(to), .port = first};
  while (fabric.middle_of(flow) != middle) ++flow.port;
  return flow.port;
}

TEST(PathPlanner, EightFlowsUseFourPathsEvenly) {
  test::for_each_seed(50, [](std::uint64_t seed) {
    Fabric fabric{4, seed};
    for (int i = 0; i < 8; ++i) fabric.add_flow(1, 2, port_over(fabric, 0));
    fabric.steps(60);
    EXPECT_EQ(fabric.spread(), (Counts{2, 2, 2, 2}));
  });
}

TEST(PathPlanner, FourFlowsUseAPathEach) {
  test::for_each_seed(50, [](std::uint64_t seed) {
    Fabric fabric{4, seed};
    for (std::uint16_t i = 0; i < 4; ++i) {
      fabric.add_flow(1, 2, static_cast<std::uint16_t>(50'000 + 7 * seed + i));
    }
    fabric.steps(60);
    EXPECT_EQ(fabric.spread(), (Counts{1, 1, 1, 1}));
  });
}

TEST(PathPlanner, FlowsOfSeveralHostsShareLinksEvenly) {
  test::for_each_seed(20, [](std::uint64_t seed) {
    Fabric fabric{4, seed};
    for (std::uint32_t from = 1; from <= 4; ++from) {
      for (std::uint32_t i = 0; i < 3; ++i) {
        fabric.add_flow(from, from + 4, port_over(fabric, 1, from, from + 4));
      }
    }
    fabric.steps(100);
    EXPECT_EQ(fabric.spread(), (Counts{3, 3, 3, 3}));
  });
}

TEST(PathPlanner, OrdersNothingForFlowsOnceTheyAreSpread) {
  Fabric fabric{4, 7};
  for (int i = 0; i < 6; ++i) fabric.add_flow(1, 2, port_over(fabric, 2));
  for (int i = 0; i < 5; ++i) fabric.add_flow(3, 4, port_over(fabric, 2, 3, 4));
  fabric.steps(100);
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(fabric.step(), 0U) << "after step " << i;
}

TEST(PathPlanner, MovesOnlyFlowsOnTheLostPath) {
  Fabric fabric{4, 11};
  for (std::uint32_t i = 0; i < 8; ++i) fabric.add_flow(1, 2, port_over(fabric, i % 4));
  fabric.steps(60);
  const std::vector<LiveFlow> before = fabric.flows[1];
  ASSERT_EQ(fabric.spread(), (Counts{2, 2, 2, 2}));
  fabric.dead.insert(3);
  fabric.steps(20);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const LiveFlow& flow = fabric.flows[1][i];
    EXPECT_EQ(fabric.middle_of(before[i]) == 3, flow.port != before[i].port) << i;
    EXPECT_NE(fabric.middle_of(flow), 3U) << i;
  }
}

TEST(PathPlanner, AStalledFlowLeavesItsPathAtTheSecondReport) {
  Fabric fabric{4, 12};
  for (std::uint32_t i = 0; i < 4; ++i) fabric.add_flow(1, 2, port_over(fabric, i));
  fabric.steps(60);
  fabric.probes_answered = false;  // only the counters show it
  fabric.dead.insert(2);
  fabric.steps(2);
  for (const LiveFlow& flow : fabric.flows[1]) EXPECT_NE(fabric.middle_of(flow), 2U);
  const auto moved = fabric.events(PlannerEvent::Kind::kMoved);
  ASSERT_FALSE(moved.empty());
  EXPECT_EQ(moved.back().reason, PlannerEvent::Reason::kStalled);
  EXPECT_EQ(fabric.events(PlannerEvent::Kind::kSuspected).size(), 2U);
}

TEST(PathPlanner, AStalledFlowWithoutMeasuredPathsTriesOtherPorts) {
  Fabric fabric{2, 13};
  fabric.probes_answered = false;
  fabric.add_flow(1, 2, port_over(fabric, 0));
  fabric.steps(20);
  fabric.dead.insert(0);
  fabric.steps(60);
  EXPECT_EQ(fabric.spread(), (Counts{0, 1}));
}

TEST(PathPlanner, FlowsComeBackToAPathThatWorksAgain) {
  Fabric fabric{2, 14};
  for (int i = 0; i < 4; ++i) fabric.add_flow(1, 2, port_over(fabric, 0));
  fabric.dead.insert(1);
  fabric.steps(60);
  EXPECT_EQ(fabric.spread(), (Counts{4, 0}));
  fabric.dead.clear();
  fabric.steps(400);
  EXPECT_EQ(fabric.spread(), (Counts{2, 2}));
}

// Packets arrive, but their ACKs do not: the peer's end of the connection moves.
TEST(PathPlanner, APeerWhoseAcksAreLostMovesThem) {
  Fabric fabric{4, 15};
  fabric.add_flow(1, 2, port_over(fabric, 0));
  fabric.steps(60);
  const LiveFlow forward = fabric.flows[1][0];
  LiveFlow acks = forward;
  std::swap(acks.source, acks.destination);
  std::swap(acks.qpn, acks.peer);
  acks.port = port_over(fabric, 1, 2, 1);
  const auto hear = [&](const LiveFlow& flow, std::uint64_t agent) {
    fabric.planner.hear(agent, {.host = "", .flows = {flow}, .paths = {}}, fabric.now);
    return fabric.planner.orders_for(agent, fabric.now);
  };
  (void)hear(acks, 2);
  LiveFlow stalled = forward;
  stalled.retransmitted += 5;
  for (int i = 0; i < 2; ++i) {
    fabric.now += Fabric::kStep;
    stalled.retransmitted += 5;
    (void)hear(stalled, 1);
  }
  const Orders orders = hear(acks, 2);
  ASSERT_EQ(orders.flows.size(), 1U);
  EXPECT_EQ(orders.flows[0].qpn, acks.qpn);
  EXPECT_NE(orders.flows[0].port, acks.port);
}

TEST(PathPlanner, FlowsThatDoNotSendDoNotCount) {
  Fabric fabric{4, 16};
  for (int i = 0; i < 4; ++i) fabric.add_flow(1, 2, port_over(fabric, 0));
  fabric.steps(60);
  EXPECT_FALSE(fabric.planner.loads().all().empty());
  for (int i = 0; i < 30; ++i) {
    fabric.now += Fabric::kStep;
    fabric.planner.hear(1, {.host = "", .flows = fabric.flows[1], .paths = {}}, fabric.now);
  }
  EXPECT_TRUE(fabric.planner.loads().all().empty());
}

TEST(PathPlanner, AForgottenAgentLeavesNothing) {
  Fabric fabric{4, 17};
  for (int i = 0; i < 4; ++i) fabric.add_flow(1, 2, port_over(fabric, 0));
  fabric.steps(60);
  fabric.planner.forget(1);
  EXPECT_TRUE(fabric.planner.loads().all().empty());
  EXPECT_TRUE(fabric.planner.agents().empty());
  EXPECT_EQ(fabric.planner.orders_for(1, fabric.now), Orders{});
}

TEST(PathPlanner, ANewPairIsMeasuredOnce) {
  Fabric fabric{4, 18};
  fabric.add_flow(1, 2, 55'555);
  fabric.steps(200);
  std::size_t ports = 0;
  for (const Orders& orders : fabric.orders) {
    for (const ProbeOrder& order : orders.probes) ports += order.ports.size();
  }
  EXPECT_EQ(ports, PathPlanner::kCandidates);
}

TEST(PathPlanner, ManyPathsGetMoreCandidates) {
  Fabric fabric{40, 18};
  fabric.add_flow(1, 2, 55'555);
  fabric.steps(3000);
  const PairPaths& paths = fabric.planner.agents().at(1).pairs.begin()->second.paths;
  EXPECT_GT(paths.asked().size(), PathPlanner::kCandidates);
  EXPECT_LE(paths.asked().size(), PathPlanner::kMaxCandidates);
}

TEST(PathPlanner, AnAgentThatDoesNotObeyGetsFewOrders) {
  Fabric fabric{4, 24};
  fabric.obeys = false;
  for (int i = 0; i < 4; ++i) fabric.add_flow(1, 2, port_over(fabric, 0));
  std::size_t orders = 0;
  for (int i = 0; i < 2000; ++i) orders += fabric.step();  // 100 s
  EXPECT_LE(orders, 4 * 8U);
}

TEST(PathPlanner, AHostUsesFewPorts) {
  Fabric fabric{8, 19};
  for (std::uint32_t to = 2; to <= 11; ++to) {
    for (int i = 0; i < 10; ++i) fabric.add_flow(1, to, port_over(fabric, 0, 1, to));
  }
  fabric.steps(600);
  std::set<std::uint16_t> ports;
  for (const LiveFlow& flow : fabric.flows[1]) ports.insert(flow.port);
  EXPECT_LE(ports.size(), PathPlanner::kMaxPortsOfHost);
  const Counts spread = fabric.spread();
  EXPECT_LE(*std::ranges::max_element(spread), 14U);  // 12.5 on average
}

TEST(PathPlanner, FasterLinksGetMoreFlows) {
  PlannerSettings settings;
  for (std::uint32_t i = 0; i < 2; ++i) {
    settings.links.push_back({.between = {.from = Fabric::kNear, .to = Fabric::middle(i)},
                              .rate = Rate::gigabits(i == 0 ? 300 : 100)});
  }
  Fabric fabric{2, 20, settings};
  for (int i = 0; i < 8; ++i) fabric.add_flow(1, 2, port_over(fabric, 1));
  fabric.steps(60);
  EXPECT_EQ(fabric.spread(), (Counts{6, 2}));
}

TEST(PathPlanner, AdvisesAsManyQpsAsCablesMatchTheNic) {
  PlannerSettings settings{.nic_rate = Rate::gigabits(400), .links = {}, .rate_limits = {}};
  settings.links.push_back(
      {.between = {.from = Fabric::middle(1), .to = Fabric::kFar}, .rate = Rate::gigabits(150)});
  Fabric fabric{4, 21, settings};
  fabric.add_flow(1, 2, port_over(fabric, 0));
  fabric.steps(20);
  const auto advice = fabric.events(PlannerEvent::Kind::kAdvised);
  ASSERT_EQ(advice.size(), 1U);
  EXPECT_EQ(advice[0].qps, 3U);
  EXPECT_EQ(advice[0].flows, 1U);
}

TEST(PathPlanner, ClassesGetTheirRateLimitOnceAndWithEveryPort) {
  PlannerSettings settings;
  settings.rate_limits[106] = 10'000'000'000;
  Fabric fabric{4, 22, settings};
  for (int i = 0; i < 2; ++i) {
    fabric.add_flow(1, 2, port_over(fabric, 0)).traffic_class = i == 0 ? 106 : 0;
  }
  fabric.steps(60);
  const Qpn limited = fabric.flows[1][0].qpn;
  int without_port = 0;
  for (const Orders& orders : fabric.orders) {
    for (const FlowOrder& order : orders.flows) {
      EXPECT_EQ(order.rate_limit, order.qpn == limited ? 10'000'000'000U : 0U);
      without_port += order.port == 0 ? 1 : 0;
    }
  }
  EXPECT_EQ(without_port, 1);
}

TEST(PathPlanner, TheSameReportsGiveTheSameOrders) {
  const auto run = [] {
    Fabric fabric{4, 23};
    for (std::uint32_t from = 1; from <= 3; ++from) {
      for (std::uint32_t i = 0; i < 5; ++i) {
        fabric.add_flow(from, 9, static_cast<std::uint16_t>(50'000 + 13 * i + from));
      }
    }
    fabric.steps(40);
    fabric.dead.insert(1);
    fabric.steps(40);
    return fabric.orders;
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace nerve::controller
