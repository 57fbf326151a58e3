// Goal: a TCP connection is limited by its cable or its cores, shares both fairly, and recovers
// losses. Method: traffic with times computed by hand.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/topology/topologies.h"
#include "tests/sim/times.h"
#include "tests/sim/traffic.h"

namespace nerve::sim::tcp_test {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using test::microseconds_of;
using test::Traffic;

constexpr std::uint32_t kSegment = 9000 - 52;
constexpr std::uint32_t kOnTheCable = 9000 + 18 + 20;
constexpr std::uint32_t kMegabyte = 1'000'000;
constexpr std::uint64_t kMark = 300'000;  // DCTCP's K at 100 Gb/s

// Cores with no processing time.
TcpSpec fast_host() {
  TcpSpec spec;
  spec.copy = spec.copy_out = Rate::gigabits(100'000);
  spec.per_packet = spec.per_packet_received = spec.per_message = spec.latency = Duration{};
  return spec;
}

SimulatedNetwork network(const TcpSpec& spec, std::uint64_t buffer = 32U << 20U) {
  SimulatedNetwork made;
  made.fabric.buffer.lossless = 0;
  made.fabric.buffer.bytes = buffer;
  made.fabric.marking = {.low = kMark - 1, .high = kMark, .per_million = 1'000'000, .on = true};
  made.fabric.longest_packet = 9018;
  made.tcp = spec;
  return made;
}

Graph one_switch(std::uint32_t nics) { return star(nics, {.delay = microseconds{1}}); }

double at_line_rate(std::uint64_t bytes) {
  return static_cast<double>(bytes) / kSegment * kOnTheCable * 8 / 100'000;
}

struct Sums {
  std::uint64_t retransmitted{};
  std::uint64_t timeouts{};
  Duration cpu{};
};
Sums sums(Traffic& traffic, std::uint32_t nics) {
  Sums all;
  for (std::uint32_t i = 0; i < nics; ++i) {
    const TcpNic& nic = *traffic.world().find_tcp_nic(NodeId{i});
    all.retransmitted += nic.counters().retransmitted;
    all.timeouts += nic.counters().timeouts;
    all.cpu += nic.cpu_time();
  }
  return all;
}

}  // namespace

class TcpAlgorithms : public testing::TestWithParam<TcpAlgorithm> {
 protected:
  static TcpSpec with(TcpSpec spec) {
    spec.algorithm = GetParam();
    return spec;
  }
};

TEST_P(TcpAlgorithms, OneConnectionFillsTheCableWhenCoresAreFast) {
  Traffic traffic{one_switch(2), network(with(fast_host()))};
  traffic.add(NodeId{0}, NodeId{1}, 50 * kMegabyte);
  traffic.run();
  const double bound = at_line_rate(50 * kMegabyte);
  EXPECT_GE(microseconds_of(traffic.last_received()), bound);
  EXPECT_LE(microseconds_of(traffic.last_received()), bound * 1.03);
}

TEST_P(TcpAlgorithms, OneConnectionIsAsFastAsTheReceivingCore) {
  const TcpSpec spec = with({});
  Traffic traffic{one_switch(2), network(spec)};
  traffic.add(NodeId{0}, NodeId{1}, 40 * kMegabyte);
  traffic.run();
  const double packets = 40.0 * kMegabyte / kSegment;
  const double each =
      static_cast<double>((spec.per_packet_received + spec.copy.time_to_send(kSegment)).count()) /
      1e6;
  const double bound = packets * each;
  EXPECT_GE(microseconds_of(traffic.last_received()), bound);
  EXPECT_LE(microseconds_of(traffic.last_received()), bound * 1.03);
  // 42 Gb/s, as measured on Linux.
  EXPECT_NEAR(kSegment * 8 / each / 1000, 42, 1);
}

TEST_P(TcpAlgorithms, OneConnectionIsAsFastAsTheSendingCore) {
  TcpSpec spec = with(fast_host());
  spec.copy_out = Rate::gigabits(40);
  Traffic traffic{one_switch(2), network(spec)};
  traffic.add(NodeId{0}, NodeId{1}, 40 * kMegabyte);
  traffic.run();
  const double bound = 40.0 * kMegabyte * 8 / 40'000;
  EXPECT_GE(microseconds_of(traffic.last_received()), bound);
  EXPECT_LE(microseconds_of(traffic.last_received()), bound * 1.03);
}

TEST_P(TcpAlgorithms, AllCoresTogetherLimitTheNic) {
  TcpSpec spec = with({});
  spec.cores = 1;
  spec.ring = 4096;  // so that the ring drops nothing
  Traffic traffic{one_switch(2), network(spec)};
  for (int i = 0; i < 4; ++i) traffic.add(NodeId{0}, NodeId{1}, 5 * kMegabyte);
  traffic.run();
  const double each =
      static_cast<double>((spec.per_packet_received + spec.copy.time_to_send(kSegment)).count()) /
      1e6;
  const double bound = 20.0 * kMegabyte / kSegment * each;
  EXPECT_GE(microseconds_of(traffic.last_received()), bound);
  EXPECT_LE(microseconds_of(traffic.last_received()), bound * 1.06);
  EXPECT_LE(sums(traffic, 2).cpu.count(),
            2 * static_cast<std::int64_t>(traffic.last_received().picoseconds()));
}

// The cables differ in length, or the two would send in step, with the same one always ahead.
TEST_P(TcpAlgorithms, TwoConnectionsShareTheCable) {
  Graph graph = one_switch(3);
  graph.cables[1].delay += nanoseconds{37};
  Traffic traffic{graph, network(with(fast_host()))};
  traffic.add(NodeId{0}, NodeId{2}, 30 * kMegabyte);
  traffic.add(NodeId{1}, NodeId{2}, 30 * kMegabyte);
  traffic.run();
  const double bound = at_line_rate(60 * kMegabyte);
  const double first =
      microseconds_of(std::min(traffic.messages()[0].received, traffic.messages()[1].received));
  EXPECT_LE(microseconds_of(traffic.last_received()), bound * 1.05);
  EXPECT_GE(first, bound * (GetParam() == TcpAlgorithm::kDctcp ? 0.9 : 0.6));
}

TEST_P(TcpAlgorithms, DropsOfASmallBufferAreRetransmitted) {
  Traffic traffic{one_switch(5), network(with(fast_host()), 250'000)};
  for (std::uint32_t i = 0; i < 4; ++i) traffic.add(NodeId{i}, NodeId{4}, 10 * kMegabyte);
  traffic.run();
  EXPECT_GT(traffic.totals().dropped, 0U);
  EXPECT_GE(sums(traffic, 5).retransmitted, traffic.totals().dropped / 2);
}

TEST_P(TcpAlgorithms, IncastOfSixteenSenders) {
  Traffic traffic{one_switch(17), network(with({}))};
  for (std::uint32_t i = 0; i < 16; ++i) traffic.add(NodeId{i}, NodeId{16}, 2 * kMegabyte);
  traffic.run();
  EXPECT_GE(microseconds_of(traffic.last_received()), at_line_rate(32 * kMegabyte));
}

INSTANTIATE_TEST_SUITE_P(Kinds, TcpAlgorithms,
                         testing::Values(TcpAlgorithm::kDctcp, TcpAlgorithm::kCubic),
                         [](const auto& which) {
                           return which.param == TcpAlgorithm::kDctcp ? "Dctcp" : "Cubic";
                         });

TEST(Tcp, DctcpKeepsTheQueueNearItsMark) {
  Traffic traffic{one_switch(5), network(fast_host())};
  for (std::uint32_t i = 0; i < 4; ++i) traffic.add(NodeId{i}, NodeId{4}, 20 * kMegabyte);
  Simulation& world = traffic.world();
  std::vector<std::uint32_t> queues;
  const PortId out = Graph::other_end(world.fabric().first_port(NodeId{4}));
  world.on_sample([&] {
    queues.push_back(world.fabric().port(out).queued);
    if (queues.size() < 400) world.sample_at(world.now() + microseconds{10});
  });
  world.sample_at(Time{microseconds{2000}});
  traffic.run();
  std::ranges::sort(queues);
  EXPECT_GT(queues[queues.size() / 2], kMark * 6 / 10);
  EXPECT_LT(queues[queues.size() / 2], kMark * 13 / 10);
  EXPECT_LT(queues[queues.size() * 99 / 100], kMark * 2);
  EXPECT_EQ(traffic.totals().dropped, 0U);
  EXPECT_GT(traffic.totals().marked, 0U);
}

TEST(Tcp, SmallMessageTakesItsCallsAndItsLatency) {
  const TcpSpec spec;
  Traffic traffic{one_switch(2), network(spec)};
  traffic.add(NodeId{0}, NodeId{1}, 100);
  traffic.run();
  // A system call and a packet on one side, two cables, a packet and the wake-up on the other.
  EXPECT_NEAR(microseconds_of(traffic.last_received()), 5 + 0.18 + 2 + 0.8 + 8, 0.2);
}

TEST(Tcp, ManyMessagesOfOneConnectionArriveInOrder) {
  Traffic traffic{one_switch(2), network({})};
  const QpNumber qp = traffic.world().join(NodeId{0}, NodeId{1}).mine;
  for (std::uint32_t i = 0; i < 200; ++i) traffic.add_on(NodeId{0}, qp, NodeId{1}, i * 37 % 20'000);
  traffic.run();
  EXPECT_TRUE(std::ranges::is_sorted(traffic.messages(), {}, &test::SentMessage::received));
}

TEST(Tcp, SlowCoresDropPacketsAndTcpRetransmits) {
  TcpSpec spec;
  spec.cores = 1;
  spec.ring = 64;
  Traffic traffic{one_switch(5), network(spec)};
  for (std::uint32_t i = 0; i < 4; ++i) traffic.add(NodeId{i}, NodeId{4}, 2 * kMegabyte);
  traffic.run();
  EXPECT_GT(traffic.world().find_tcp_nic(NodeId{4})->counters().dropped, 0U);
}

TEST(Tcp, TheSameSeedGivesTheSameHistory) {
  const auto history = [](std::uint64_t seed) {
    SimulatedNetwork made = network({}, 1'000'000);
    made.fabric.path_choice = PathChoice::kFlowlet;
    Traffic traffic{leaf_spine({.leaves = 4, .spines = 2, .nics_per_leaf = 4}, {}), made, seed};
    for (std::uint32_t i = 0; i < 16; ++i)
      traffic.add(NodeId{i}, NodeId{(i * 7 + 5) % 16}, 700'000);
    traffic.run();
    std::vector<std::uint64_t> all{traffic.world().events()};
    for (const auto& message : traffic.messages()) all.push_back(message.received.picoseconds());
    return all;
  };
  EXPECT_EQ(history(1), history(1));
  EXPECT_NE(history(1), history(2));
}

}  // namespace nerve::sim::tcp_test
