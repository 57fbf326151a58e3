// Goal: what stands in the way of packets is seen, at the right port and for as long as it is
// there. Method: traffic with one obstacle each.
#include "sim/results/congestion.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "sim/results/recorder.h"
#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim::congestion_test {
namespace {

using std::chrono::microseconds;
using test::Traffic;

constexpr std::uint32_t kEachFlow = 4'096'000;
constexpr Time kEver{std::chrono::hours{1}};

// Flows from one NIC to another, recorded.
struct WatchedTraffic {
  WatchedTraffic(const Graph& graph, const FabricConfig& config,
                 const std::vector<std::pair<std::uint32_t, std::uint32_t>>& flows,
                 const SimNicConfig& nics = {})
      : traffic{graph, config, nics}, recorder{traffic.world(), {}} {
    for (const auto& [from, to] : flows) traffic.add(NodeId{from}, NodeId{to}, kEachFlow);
    traffic.run();
    recorder.stop();
  }
  [[nodiscard]] Duration seen(Congestion::Column column) {
    return recorder.congestion().seen(column, Time{}, kEver);
  }
  [[nodiscard]] std::string name(std::uint32_t port) {
    const Graph& graph = traffic.world().fabric().graph();
    return graph.nodes[graph.node_at(PortId{port}).value()].name + ">" +
           graph.nodes[graph.node_at(Graph::other_end(PortId{port})).value()].name;
  }
  [[nodiscard]] const Congestion::PortSeen* worst(Duration Congestion::PortSeen::*member) {
    const auto ports = recorder.congestion().ports();
    const auto found = std::ranges::max_element(
        ports, {}, [&](const Congestion::PortSeen& one) { return one.*member; });
    return found == ports.end() || (*found).*member <= Duration{} ? nullptr : &*found;
  }

  Traffic traffic;
  Recorder recorder;
};

TEST(Congestion, OneFlowMeetsNothing) {
  WatchedTraffic run{star(2, {}), {}, {{0, 1}}};
  for (const auto column : {Congestion::kCollisions, Congestion::kTooFewCables, Congestion::kIncast,
                            Congestion::kPaused, Congestion::kLosses}) {
    EXPECT_EQ(run.seen(column), Duration{}) << column;
  }
  EXPECT_GT(run.seen(Congestion::kBusyNics), microseconds{300});
  EXPECT_TRUE(run.recorder.congestion().ports().empty());
}

TEST(Congestion, AnIncastIsSeenBeforeItsReceiver) {
  WatchedTraffic run{star(5, {}), {}, {{0, 4}, {1, 4}, {2, 4}, {3, 4}}};
  const Duration took = run.traffic.last_received() - Time{};
  EXPECT_GT(run.seen(Congestion::kIncast), took * 9 / 10);
  EXPECT_LE(run.seen(Congestion::kIncast), took + microseconds{10});
  const auto* port = run.worst(&Congestion::PortSeen::incast);
  ASSERT_NE(port, nullptr);
  EXPECT_EQ(run.name(port->port), "switch>nic4");
  EXPECT_EQ(port->flows, 4U);
  EXPECT_EQ(run.seen(Congestion::kCollisions), Duration{});
}

TEST(Congestion, ParallelCablesCollideAndOneCableIsTooFew) {
  WatchedTraffic one{dumbbell(8, 1, {}), {}, {{0, 4}, {1, 5}}};
  EXPECT_GT(one.seen(Congestion::kTooFewCables), microseconds{300});
  EXPECT_EQ(one.seen(Congestion::kCollisions), Duration{});
  // With four cables, four flows rarely use four of them.
  WatchedTraffic four{dumbbell(8, 4, {}), {}, {{0, 4}, {1, 5}, {2, 6}, {3, 7}}};
  EXPECT_GT(four.seen(Congestion::kCollisions), microseconds{200});
  EXPECT_EQ(four.seen(Congestion::kTooFewCables), Duration{});
  const auto* port = four.worst(&Congestion::PortSeen::collided);
  ASSERT_NE(port, nullptr);
  EXPECT_GE(port->flows, 2U);
  EXPECT_GT(port->unused / static_cast<double>(port->collided.count()), 0.2);
}

TEST(Congestion, PausesBeginAtTheQueueThatNothingStops) {
  FabricConfig config;
  config.buffer.bytes = 1'000'000;
  WatchedTraffic run{dumbbell(8, 1, {}), config, {{0, 4}, {5, 4}, {6, 4}}};
  EXPECT_GT(run.seen(Congestion::kPaused), microseconds{100});
  const auto* root = run.worst(&Congestion::PortSeen::root);
  ASSERT_NE(root, nullptr);
  EXPECT_EQ(run.traffic.world().fabric().graph().nodes[4].name, "nic4");
  EXPECT_TRUE(run.name(root->port).ends_with(">nic4")) << run.name(root->port);
  EXPECT_LT(run.recorder.congestion().circular(), microseconds{50});
}

TEST(Congestion, LossesCountTheirTimeouts) {
  FabricConfig config;
  config.buffer.bytes = 100'000;
  config.buffer.lossless = 0;
  WatchedTraffic run{star(5, {}), config, {{0, 4}, {1, 4}, {2, 4}, {3, 4}}};
  EXPECT_GT(run.seen(Congestion::kLosses), Duration{});
  EXPECT_LE(run.seen(Congestion::kLosses), run.traffic.world().now() - Time{});
}

}  // namespace
}  // namespace nerve::sim::congestion_test
