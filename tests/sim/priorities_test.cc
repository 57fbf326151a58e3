// Goal: a port sends the highest ready class, so that ACKs, NAKs and CNPs do not wait behind data.
// Method: a port in isolation; and a message whose ACK returns through a port with queued data,
// with and without its own class.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;

constexpr std::uint8_t kControl = 3;

struct APort : ::testing::Test {
  void push(unsigned traffic_class) {
    const PacketId id = packets.take();
    packets[id] = {};
    packets[id].traffic_class = static_cast<std::uint8_t>(traffic_class);
    packets[id].bytes = 100;
    port.push(packets, id);
  }
  unsigned send() {
    const unsigned turn = port.turn().value();
    packets.give_back(port.pop(packets, turn));
    ++port.sent_packets;
    return turn;
  }
  PacketPool packets;
  Port port;
};

// How long the ACK took through a queue of data.
Duration way_of_the_ack(std::uint8_t control_class) {
  FabricConfig fabric;
  fabric.buffer = {.bytes = 64'000'000, .lossless = 1U << kDataClass};
  SimNicConfig nics;
  nics.control_class = control_class;
  test::Traffic traffic{star(4, {}), fabric, nics};
  constexpr NodeId kCrowded{2};
  traffic.add(kCrowded, NodeId{3}, 1'000'000);
  for (const NodeId sender : {NodeId{0}, NodeId{1}}) traffic.add(sender, kCrowded, 4'000'000);
  traffic.run();
  return traffic.messages()[0].acknowledged - traffic.messages()[0].received;
}

}  // namespace

TEST_F(APort, SendsTheHighestClassFirst) {
  for (const unsigned traffic_class : {1U, 0U, 1U, 3U, 0U, 3U}) push(traffic_class);
  std::vector<unsigned> sent;
  while (port.turn()) sent.push_back(send());
  EXPECT_EQ(sent, (std::vector<unsigned>{3, 3, 1, 1, 0, 0}));
  EXPECT_EQ(port.queued, 0U);
}

TEST_F(APort, PausedClassDoesNotBlockOthers) {
  for (const unsigned traffic_class : {3U, 1U, 0U}) push(traffic_class);
  port.paused = 1U << 3 | 1U << 1;
  EXPECT_EQ(send(), 0U);
  EXPECT_EQ(port.turn(), std::nullopt);
  port.paused = 0;
  EXPECT_EQ(send(), 3U);
  EXPECT_EQ(send(), 1U);
}

TEST_F(APort, DataClassesAlternate) {
  for (int i = 0; i < 3; ++i) push(kDataClass);
  for (int i = 0; i < 3; ++i) push(kLiftedClass);
  std::vector<unsigned> sent;
  while (port.turn()) sent.push_back(send());
  EXPECT_EQ(std::ranges::count(sent, kDataClass), 3);
  for (std::size_t i = 1; i < sent.size(); ++i) EXPECT_NE(sent[i], sent[i - 1]) << "at " << i;
}

TEST_F(APort, ThreeDataClassesTakeTurnsWithValiantRouting) {
  port.lifts_twice = true;
  for (int i = 0; i < 4; ++i) {
    for (const unsigned traffic_class : {0U, 1U, 2U}) push(traffic_class);
  }
  push(kControl);
  std::vector<unsigned> sent;
  while (port.turn()) sent.push_back(send());
  ASSERT_EQ(sent.size(), 13U);
  EXPECT_EQ(sent[0], kControl);
  for (std::size_t first = 1; first < sent.size(); first += 3) {
    EXPECT_EQ(sent[first] + sent[first + 1] + sent[first + 2], 3U) << "each class once";
  }
  push(0);
  push(2);
  port.paused = 1U << 2U;
  EXPECT_EQ(port.turn(), 0U);
}

TEST(Priorities, AckOvertakesQueuedData) {
  // 1 MB takes 84 us at 100 Gb/s; by then as much data is queued, at twice the rate of the cable.
  EXPECT_GT(way_of_the_ack(kDataClass), microseconds{60});
  // Two cables, and at most one packet being sent.
  EXPECT_LT(way_of_the_ack(kControl), microseconds{5});
}

}  // namespace nerve::sim
