// Goal: a queue that is paused for longer than the PFC watchdog allows drops its packets until it
// is resumed, and stops nobody else; shorter pauses change nothing. Method: a NIC that storms, an
// incast that pauses, a ring of switches that deadlocks.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/topology/graph_file.h"
#include "sim/topology/topologies.h"
#include "tests/sim/times.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::microseconds_of;
using test::Traffic;

constexpr std::uint32_t kMessage = 4'096'000;  // 334 us at 100G

FabricConfig with_watchdog(Duration patience) {
  FabricConfig config;
  config.buffer.bytes = 1'000'000;
  config.pfc_watchdog = patience;
  return config;
}

std::uint64_t trips(Traffic& traffic) {
  std::uint64_t count = 0;
  for (const Port& port : traffic.world().fabric().ports()) {
    count += port.counters.watchdog_trips;
    EXPECT_EQ(port.dropping & ~port.paused, 0);
  }
  return count;
}

// Two flows share a trunk; the receiver of the first storms for three milliseconds.
struct Storm {
  explicit Storm(Duration patience) : traffic{dumbbell(4, 1, {}), with_watchdog(patience)} {
    traffic.add(NodeId{0}, NodeId{2}, kMessage);
    traffic.add(NodeId{1}, NodeId{3}, kMessage);
    FaultSpec storm;
    storm.at = microseconds{50};
    storm.kind = FaultKind::kStorm;
    storm.from = "nic2";
    storm.lasts = milliseconds{3};
    traffic.schedule({storm});
    traffic.run();
  }
  [[nodiscard]] double arrival(std::size_t message) const {
    return microseconds_of(traffic.messages()[message].received);
  }
  Traffic traffic;
};

}  // namespace

TEST(Watchdog, StormStopsOnlyTheFlowsToItsNic) {
  Storm without{Duration{}};
  EXPECT_GT(without.arrival(1), 3050);
  EXPECT_EQ(without.traffic.totals().dropped, 0U);
  EXPECT_EQ(trips(without.traffic), 0U);

  Storm with{microseconds{100}};
  EXPECT_LT(with.arrival(1), 1000);
  EXPECT_GT(with.arrival(0), 3050) << "retransmitted when the storm is over";
  EXPECT_GT(with.traffic.totals().dropped, 0U);
  EXPECT_EQ(trips(with.traffic), 1U) << "the queue towards the NIC, which frees the others";
  for (const Port& port : with.traffic.world().fabric().ports()) {
    EXPECT_EQ(port.paused, 0);
    EXPECT_EQ(port.dropping, 0);
  }
}

TEST(Watchdog, IsPatientWithAStormThatEndsInTime) {
  Storm storm{milliseconds{4}};
  EXPECT_GT(storm.arrival(1), 3050);
  EXPECT_EQ(trips(storm.traffic), 0U);
  EXPECT_EQ(storm.traffic.totals().dropped, 0U);
}

// Each pause is short; together they are longer than the watchdog allows.
TEST(Watchdog, DoesNotAddUpPauses) {
  Traffic traffic{star(9, {}), with_watchdog(microseconds{500})};
  for (std::uint32_t i = 0; i < 8; ++i) traffic.add(NodeId{i}, NodeId{8}, kMessage);
  traffic.run();
  EXPECT_GT(traffic.totals().pauses, 20U);
  EXPECT_EQ(trips(traffic), 0U);
  EXPECT_EQ(traffic.totals().dropped, 0U);
}

TEST(Watchdog, ForgetsAPauseWhenTheCableFails) {
  FabricConfig config = with_watchdog(microseconds{100});
  Traffic traffic{dumbbell(4, 1, {}), config};
  traffic.add(NodeId{0}, NodeId{2}, kMessage);
  FaultSpec storm;
  storm.at = microseconds{50};
  storm.kind = FaultKind::kStorm;
  storm.from = "nic2";
  FaultSpec down;
  down.at = microseconds{120};
  down.kind = FaultKind::kDown;
  down.from = "nic2";
  down.to = "right";
  down.reroute = Duration{};
  FaultSpec up = down;
  up.at = microseconds{140};
  up.kind = FaultKind::kUp;
  traffic.schedule({storm, down, up});
  traffic.run();
  EXPECT_EQ(trips(traffic), 0U);
}

// The same flows deadlock without a watchdog (deadlock_test.cc). Here they deadlock again and
// again, and some give up; but packets leave the fabric, and no queue stays paused.
TEST(Watchdog, ResolvesADeadlock) {
  std::string text;
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    text += "switch s" + number + "\n";
    for (int k = 0; k < 4; ++k) {
      const std::string nic = "n" + number + "." + std::to_string(k);
      text += "nic " + nic + "\ncable " + nic + " s" + number + " 100G 100ns\n";
    }
  }
  for (int i = 0; i < 5; ++i) {
    text += "cable s" + std::to_string(i) + " s" + std::to_string((i + 1) % 5) + " 100G 100ns\n";
  }
  const auto ring = parse_graph(text, "ring");
  ASSERT_TRUE(ring) << ring.error();
  FabricConfig config = with_watchdog(microseconds{500});
  config.buffer.bytes = 500'000;
  Traffic traffic{*ring, config};
  traffic.may_fail();
  for (std::uint32_t i = 0; i < 20; ++i) {
    traffic.add(NodeId{i}, NodeId{(i + 8) % 20}, 2'000'000);
  }
  traffic.run();  // expects that no packet is left over
  EXPECT_GT(trips(traffic), 0U);
  EXPECT_GT(std::ranges::count(traffic.messages(), false, &test::SentMessage::failed), 0);
  for (const Port& port : traffic.world().fabric().ports()) EXPECT_EQ(port.paused, 0);
}

}  // namespace nerve::sim
