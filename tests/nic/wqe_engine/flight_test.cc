// Goal: after a timeout a small flight is sent and grows with each acknowledgement, so that a slow
// peer is not flooded with duplicates (found with Soft-RoCE in a slow guest).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "nic/flow_control/flight.h"
#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::Pair;
using test::Seen;

constexpr std::uint32_t kPackets = 60;
constexpr Duration kTimeout{std::chrono::microseconds{4'195}};  // 4.096 us * 2^10, rounded up

struct FlightOut : ::testing::Test {
  FlightOut() {
    pair.connect();
    EXPECT_TRUE(pair.a.post({.wr_id = 1,
                             .op = SendOp::kWrite,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, kPackets * 1024));
  }

  // The number of packets that `a` sends in this time.
  std::uint32_t sent_in(Duration time) {
    pair.seen.clear();
    pair.wait(time);
    std::uint32_t count = 0;
    for (const Seen& frame : pair.seen) count += frame.from_a ? 1 : 0;
    return count;
  }

  Pair pair;
};

TEST_F(FlightOut, IsSmallAfterATimeout) {
  pair.lose = [](const Seen&) { return true; };
  pair.exchange();
  EXPECT_EQ(pair.seen.size(), kPackets);
  EXPECT_TRUE(pair.seen.back().headers.bth.ack_request);
  for (int retry = 0; retry < 3; ++retry) {
    EXPECT_EQ(sent_in(kTimeout), 8U);
    EXPECT_TRUE(pair.seen.back().headers.bth.ack_request);  // otherwise nothing would unblock it
  }
}

TEST_F(FlightOut, GrowsWithEveryAnswer) {
  pair.lose = [](const Seen&) { return true; };
  pair.exchange();
  pair.lose = nullptr;
  EXPECT_EQ(sent_in(kTimeout), kPackets);
  // The packets of `a` between answers of `b`: each time as many more as the flight has grown by.
  std::vector<std::uint32_t> flights{0};
  for (const Seen& frame : pair.seen) {
    if (frame.from_a) {
      ++flights.back();
    } else {
      flights.push_back(0);
    }
  }
  EXPECT_EQ(flights, (std::vector<std::uint32_t>{8, 16, 32, 4, 0}));
  const auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].status, WcStatus::kSuccess);
}

TEST_F(FlightOut, IsWholeAfterANak) {
  bool once = true;
  pair.lose = [&](const Seen& frame) { return frame.from_a && std::exchange(once, false); };
  pair.exchange();
  EXPECT_EQ(pair.a.completions().size(), 1U);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
}

// The peer only answers ACK requests, so whatever ends a turn must leave one behind. Such a peer
// answers at once, and no timer is needed.
struct ClosedWindow : ::testing::TestWithParam<std::uint32_t> {
  static EndSetup setup(std::uint32_t window) {
    EndSetup both;
    both.config.max_outstanding_packets = window;
    return both;
  }
};

TEST_P(ClosedWindow, EndsWithAnAckRequest) {
  Pair pair{setup(GetParam())};
  pair.connect();
  // A long message, whose middle packets are built in runs, between short ones.
  for (const std::uint32_t packets : {1U, kPackets, 1U, 3U, 1U}) {
    ASSERT_TRUE(pair.a.post({.wr_id = packets,
                             .op = SendOp::kWrite,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, packets * 1024));
  }
  pair.lose = [](const Seen&) { return true; };
  pair.exchange();
  ASSERT_EQ(pair.seen.size(), std::min(GetParam(), kPackets + 6));
  EXPECT_TRUE(pair.seen.back().headers.bth.ack_request);

  pair.lose = nullptr;
  pair.wait(kTimeout);
  EXPECT_EQ(pair.a.completions().size(), 5U);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 1U);
}

TEST(ShrinkingFlight, IsHalvedByALossAndGrowsByOne) {
  Flight flight;
  flight.on_acknowledged(1000);
  EXPECT_GT(flight.limit(), 1U << 20U);  // nothing was ever lost
  flight.on_loss(100);
  EXPECT_EQ(flight.limit(), 50U);
  flight.on_acknowledged(49);
  EXPECT_EQ(flight.limit(), 50U);
  flight.on_acknowledged(1);
  EXPECT_EQ(flight.limit(), 51U);
  flight.on_loss(4);
  EXPECT_EQ(flight.limit(), 16U);
}

TEST(ShrinkingFlight, IsSmallAfterATimeoutAndCarefulAtHalf) {
  Flight flight;
  flight.on_loss(64);
  flight.on_timeout();
  EXPECT_EQ(flight.limit(), 8U);
  flight.on_acknowledged(8);
  EXPECT_EQ(flight.limit(), 16U);
  flight.on_acknowledged(16);
  EXPECT_EQ(flight.limit(), 32U);
  flight.on_acknowledged(32);
  EXPECT_EQ(flight.limit(), 33U);
}

// READ responses have to fit into a queue that other traffic fills too.
TEST(ReadWindow, WaitsForEarlierResponses) {
  EndSetup both;
  both.config.max_read_packets = 4;
  Pair pair{both};
  pair.connect();
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(pair.a.post({.wr_id = i,
                             .op = SendOp::kRead,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, 3 * 1024));
  }
  bool answered = false;
  std::uint32_t asked_first = 0;
  pair.lose = [&](const Seen& frame) {
    answered = answered || !frame.from_a;
    if (!answered) ++asked_first;
    return false;
  };
  pair.exchange();
  EXPECT_EQ(asked_first, 2U);
  EXPECT_EQ(pair.a.completions().size(), 3U);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
}

INSTANTIATE_TEST_SUITE_P(At, ClosedWindow,
                         ::testing::Values(1, 2, 3, 7, 8, 9, 31, 32, 33, 34, 40, 65));

// With selective repeat a loss costs only its own retransmission.
TEST(Flight, ShrinksByAQuarterOfWhatIsSentAgainWithSelectiveRepeat) {
  Flight flight;
  flight.on_resent();
  EXPECT_GE(flight.limit(), 1U << 23U) << "after an RNR wait, say: no loss";
  flight.on_selective_loss(1024);
  EXPECT_EQ(flight.limit(), 1024U);
  for (int i = 0; i < 40; ++i) flight.on_resent();
  EXPECT_EQ(flight.limit(), 1014U);
  flight.on_acknowledged(1014);
  EXPECT_EQ(flight.limit(), 1015U) << "as one that arrives whole";
  for (int i = 0; i < 10'000; ++i) flight.on_resent();
  EXPECT_EQ(flight.limit(), 16U);
}

}  // namespace
}  // namespace nerve::nic
