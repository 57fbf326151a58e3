// Agents that know the key, and lie.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/prng.h"
#include "tests/controller/fabric.h"
#include "tests/seeds.h"

namespace nerve::controller {
namespace {

constexpr PathPlanner::AgentId kLiar = 99;

std::vector<Orders> orders_of_honest_agents(const std::function<void(Fabric&)>& lie) {
  Fabric fabric{4, 5};
  for (std::uint32_t i = 0; i < 8; ++i) {
    fabric.add_flow(1, 2, static_cast<std::uint16_t>(50'000 + i));
    fabric.add_flow(3, 4, static_cast<std::uint16_t>(51'000 + i));
  }
  for (int i = 0; i < 60; ++i) {
    (void)fabric.step();
    lie(fabric);
  }
  return fabric.orders;
}

MeasuredPath path(std::uint32_t from, std::uint32_t to, std::uint16_t port,
                  std::vector<wire::Gid> hops, bool lost = false) {
  return {.source = Fabric::host(from),
          .destination = Fabric::host(to),
          .port = port,
          .hops = std::move(hops),
          .lost = lost};
}

// All that another agent says about paths: others are steered as if it said nothing.
TEST(Liars, PathsOfOtherHostsDoNotCount) {
  const auto honest = orders_of_honest_agents([](Fabric&) {});
  const auto deceived = orders_of_honest_agents([](Fabric& fabric) {
    Report report{.host = "liar", .flows = {}, .paths = {}};
    for (const auto& [host, flows] : fabric.flows) {
      for (const LiveFlow& flow : flows) {
        const std::uint32_t to = host + 1;
        report.paths.push_back(path(host, to, flow.port, {Fabric::kNear}));
        report.paths.push_back(path(host, to, flow.port, {}, true));
      }
    }
    fabric.planner.hear(kLiar, report, fabric.now);
    EXPECT_EQ(fabric.planner.orders_for(kLiar, fabric.now), Orders{});
  });
  EXPECT_EQ(honest, deceived);
}

// It claims to have the flows of others, to be stalled, and to have lost every path.
TEST(Liars, ClaimingTheFlowsOfOthersMovesNoneOfThem) {
  Fabric fabric{4, 6};
  for (std::uint32_t i = 0; i < 4; ++i) {
    fabric.add_flow(1, 2, static_cast<std::uint16_t>(50'000 + i));
  }
  fabric.steps(60);
  std::vector<LiveFlow> mine = fabric.flows[1];
  std::vector<LiveFlow> mirrored = fabric.flows[1];
  for (LiveFlow& flow : mirrored) {
    std::swap(flow.source, flow.destination);
    std::swap(flow.qpn, flow.peer);
  }
  mine.insert(mine.end(), mirrored.begin(), mirrored.end());
  // It does not send: what it adds to the loads is not the question here.
  for (int i = 0; i < 60; ++i) {
    ASSERT_EQ(fabric.step(), 0U);
    Report report{.host = "liar", .flows = mine, .paths = {}};
    for (const ProbeOrder& order : fabric.planner.orders_for(kLiar, fabric.now).probes) {
      for (const std::uint16_t port : order.ports) {
        report.paths.push_back({.source = order.source,
                                .destination = order.destination,
                                .port = port,
                                .hops = {Fabric::kNear, Fabric::middle(port % 4), Fabric::kFar},
                                .lost = i > 5});
      }
    }
    for (LiveFlow& flow : mine) flow.retransmitted += 1'000'000;
    fabric.planner.hear(kLiar, report, fabric.now);
  }
}

TEST(Liars, LoopsAndUnwantedPortsAreIgnored) {
  Fabric fabric{4, 7};
  fabric.add_flow(1, 2, 50'000);
  fabric.steps(60);
  const std::uint16_t port = fabric.flows[1][0].port;
  const PairKey key{.source = Fabric::host(1), .destination = Fabric::host(2)};
  const auto known = fabric.planner.agents().at(1).pairs.at(key).paths.all().size();
  Report report{.host = "liar", .flows = fabric.flows[1], .paths = {}};
  const auto a = Fabric::middle(1);
  const auto b = Fabric::middle(2);
  report.paths = {path(1, 2, port, {a, b, a}), path(1, 2, port, {Fabric::host(1)}),
                  path(1, 2, port, {a, Fabric::host(2), b}), path(1, 2, 60'001, {a, b})};
  fabric.now += Fabric::kStep;
  fabric.planner.hear(1, report, fabric.now);
  const PairPaths& paths = fabric.planner.agents().at(1).pairs.at(key).paths;
  EXPECT_EQ(paths.all().size(), known);
  EXPECT_EQ(paths.links(port).size(), 4U);
}

// The loads of a planner, counted again from what it knows about flows and paths.
std::map<Link, std::uint32_t> recount(const PathPlanner& planner) {
  std::map<Link, std::uint32_t> loads;
  for (const auto& [id, agent] : planner.agents()) {
    for (const auto& [key, flow] : agent.flows) {
      const auto pair = agent.pairs.find(key.pair);
      if (pair == agent.pairs.end() || !flow.progress.sends()) continue;
      for (const Link& link : pair->second.paths.links(flow.port)) ++loads[link];
    }
  }
  return loads;
}

Report random_report(Prng& prng, std::uint64_t agent) {
  const auto address = [&] { return Fabric::host(static_cast<std::uint32_t>(prng.below(4))); };
  const auto number = [&] { return prng.below(3) == 0 ? prng.next() : prng.below(1 << 20U); };
  // Often a port that the planner asks for.
  const auto port = [&] {
    return static_cast<std::uint16_t>(kFirstSourcePort + 37 + 509 * prng.below(33));
  };
  Report report{.host = "agent-" + std::to_string(agent), .flows = {}, .paths = {}};
  for (std::uint64_t i = prng.below(8); i > 0; --i) {
    report.flows.push_back({.qpn = Qpn{static_cast<std::uint32_t>(prng.below(4))},
                            .peer = Qpn{static_cast<std::uint32_t>(prng.below(2))},
                            .source = address(),
                            .destination = address(),
                            .port = prng.below(8) == 0 ? std::uint16_t{7} : port(),
                            .traffic_class = static_cast<std::uint8_t>(prng.below(3)),
                            .bytes = number(),
                            .retransmitted = number()});
  }
  for (std::uint64_t i = prng.below(12); i > 0; --i) {
    MeasuredPath measured{.source = address(),
                          .destination = address(),
                          .port = port(),
                          .hops = {},
                          .lost = prng.below(4) == 0};
    for (std::uint64_t hop = prng.below(5); hop > 0; --hop) {
      measured.hops.push_back(prng.below(6) == 0
                                  ? wire::Gid{}
                                  : Fabric::middle(static_cast<std::uint32_t>(prng.below(5))));
    }
    report.paths.push_back(std::move(measured));
  }
  return report;
}

// Whatever agents report: loads are those of the flows, and an agent gets orders only for flows and
// pairs of its own.
TEST(Liars, LoadsEqualARecount) {
  test::for_each_seed(200, [](std::uint64_t seed) {
    Prng prng{seed};
    PathPlanner planner{{}};
    Time now{std::chrono::seconds{1}};
    for (int step = 0; step < 150; ++step) {
      now += std::chrono::milliseconds{static_cast<int>(prng.below(400))};
      const std::uint64_t agent = prng.below(3);
      if (prng.below(20) == 0) {
        planner.forget(agent);
        continue;
      }
      const Report report = random_report(prng, agent);
      planner.hear(agent, report, now);
      const Orders orders = planner.orders_for(agent, now);
      for (const FlowOrder& order : orders.flows) {
        EXPECT_TRUE(std::ranges::any_of(report.flows, [&](const LiveFlow& flow) {
          return flow.qpn == order.qpn && flow.peer == order.peer;
        }));
        EXPECT_TRUE(order.port == 0 || order.port >= kFirstSourcePort);
      }
      for (const ProbeOrder& order : orders.probes) {
        EXPECT_LE(order.ports.size(), kMaxProbePorts);
        EXPECT_TRUE(std::ranges::any_of(report.flows, [&](const LiveFlow& flow) {
          return flow.source == order.source && flow.destination == order.destination;
        }));
      }
      for (std::uint64_t other = 0; other < 3; ++other) (void)planner.orders_for(other, now);
      EXPECT_EQ(planner.loads().all(), recount(planner));
    }
  });
}

}  // namespace
}  // namespace nerve::controller
