// HPCC against windows computed by hand from the paper's algorithm 1.
#include "nic/flow_control/hpcc.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"
#include "tests/nic/flow_control/toy_link.h"

namespace nerve::nic::hpcc_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using wire::HopTelemetry;

constexpr Rate kLine = Rate::gigabits(100);
constexpr std::uint64_t kWindow = 100'000;   // 100 Gb/s for 8 us
constexpr std::uint64_t kRound = 8'000'000;  // 8 us, in picoseconds

// W_AI = 100 000 * 0.05 / 100 = 50.
HpccParameters parameters() {
  HpccParameters p;
  p.base_round_trip = microseconds{8};
  return p;
}

// A path of one or more links, and the flow that receives its telemetry.
class Way {
 public:
  explicit Way(std::size_t hops = 1, const HpccParameters& p = parameters()) : cc{p, kLine} {
    for (std::size_t i = 0; i < hops; ++i) {
      links.push_back({.timestamp_ps = 1, .line_rate_bps = kLine.bits_per_second()});
    }
    hear(0);
  }
  void hear(std::uint64_t acked, std::uint64_t outstanding = kWindow) {
    cc.on_ack(
        {.acked_bytes = acked, .outstanding_bytes = outstanding, .telemetry = std::span{links}});
  }
  // `bytes` more were sent on the link in `time`, with `queue` behind them.
  void pass(std::uint64_t bytes, std::uint64_t time = kRound, std::uint32_t queue = 0,
            std::size_t hop = 0) {
    links[hop].transmitted_bytes += bytes;
    links[hop].timestamp_ps += time;
    links[hop].queue_bytes = queue;
  }

  Hpcc cc;
  std::vector<HopTelemetry> links;
};

}  // namespace

TEST(Hpcc, StartsWithTheLineFullAndNeedsTwoReports) {
  Way way;
  EXPECT_EQ(way.cc.window_bytes(), kWindow);
  EXPECT_EQ(way.cc.rate(), kLine);
}

// A full link without a queue has a use of 1: 100 000 * 0.95 + 50.
TEST(Hpcc, AimsAtABitLessThanTheLine) {
  Way way;
  way.pass(kWindow);
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), 95'050U);
  EXPECT_EQ(way.cc.rate().bits_per_second(), 95'050'000'000U);
}

// The same report counts once per round trip: ACKs start from the same reference.
TEST(Hpcc, ReactsToEachAckButNotTwice) {
  Way way;
  way.pass(kWindow);
  way.hear(1000);
  for (int i = 0; i < 5; ++i) {
    way.pass(kWindow);
    way.hear(1000);
    EXPECT_EQ(way.cc.window_bytes(), 95'050 * 95 / 100 + 50U);
  }
  way.pass(kWindow);
  way.hear(kWindow);  // everything in flight has arrived: a new reference
  EXPECT_EQ(way.cc.window_bytes(), 90'347U);
  way.pass(kWindow);
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), 90'347 * 95 / 100 + 50U);
}

// Half a window is queued at both reports: 1.5. For a queue that has just drained, the lesser
// counts.
TEST(Hpcc, CountsWhatWaits) {
  Way way;
  way.pass(0, 1, kWindow / 2);
  way.hear(0);
  way.pass(kWindow, kRound, kWindow / 2);
  way.hear(1000);
  EXPECT_NEAR(static_cast<double>(way.cc.window_bytes()), 100'000 * 0.95 / 1.5 + 50, 1);
  Way gone;
  gone.pass(0, 1, kWindow / 2);
  gone.hear(0);
  gone.pass(kWindow, kRound, 0);
  gone.hear(1000);
  EXPECT_NEAR(static_cast<double>(gone.cc.window_bytes()), 95'050, 1);
}

TEST(Hpcc, LooksAtTheBusiestLink) {
  Way way{3};
  way.pass(kWindow / 2, kRound, 0, 0);
  way.pass(kWindow * 2, kRound, 0, 1);
  way.pass(kWindow, kRound, 0, 2);
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), kWindow * 95 / 200 + 50);
}

// A report after a quarter of a round trip counts for a quarter; before the first, the path counts
// as full: 0.75 * 1 + 0.25 * 2, then 0.75 * 1.25 + 0.25 * 2, then an idle quarter, 0.75 * 1.4375.
// The first ends a round, and its window is the reference of the others.
TEST(Hpcc, SmoothsOverARoundTrip) {
  Way way;
  way.pass(kWindow / 2, kRound / 4);
  way.hear(1000);
  EXPECT_NEAR(static_cast<double>(way.cc.window_bytes()), 100'000 * 0.95 / 1.25 + 50, 1);
  way.pass(kWindow / 2, kRound / 4);
  way.hear(1000);
  EXPECT_NEAR(static_cast<double>(way.cc.window_bytes()), 76'050 * 0.95 / 1.4375 + 50, 1);
  way.pass(0, kRound / 4);
  way.hear(1000);
  EXPECT_NEAR(static_cast<double>(way.cc.window_bytes()), 76'050 * 0.95 / 1.078125 + 50, 1);
}

// Five steps of W_AI, one per round trip, then a jump to what the utilisation allows.
TEST(Hpcc, ProbesThenJumps) {
  Way way;
  way.pass(2 * kWindow);
  way.hear(1000, 0);
  std::uint64_t window = kWindow * 95 / 200 + 50;
  ASSERT_EQ(way.cc.window_bytes(), window);
  for (int round = 0; round < 5; ++round) {
    way.pass(kWindow / 2);
    way.hear(1000, 0);
    window += 50;
    EXPECT_EQ(way.cc.window_bytes(), window) << round;
  }
  way.pass(kWindow / 2);
  way.hear(1000, 0);
  EXPECT_EQ(way.cc.window_bytes(), window * 95 / 50 + 50);
}

// The rounds of an old flow are as long as those of a new one: header bytes, which are sent and
// never acknowledged, must not count.
TEST(Hpcc, KeepsItsRoundsForEver) {
  constexpr std::uint64_t kPacket = 1000;
  Way way;
  for (int i = 0; i < 300'000; ++i) {
    way.cc.on_send(kPacket + 90, Time{});
    way.pass(kWindow / 2);
    way.hear(kPacket);
  }
  ASSERT_EQ(way.cc.window_bytes(), kWindow);
  for (std::uint64_t i = 0; i < 3 * kWindow / kPacket + 3; ++i) {  // three rounds at twice the line
    way.cc.on_send(kPacket + 90, Time{});
    way.pass(2 * kWindow);
    way.hear(kPacket);
  }
  EXPECT_LT(way.cc.window_bytes(), kWindow / 6);
}

TEST(Hpcc, StaysBetweenOneByteAndTheLine) {
  Way way;
  for (int i = 0; i < 200; ++i) {
    way.pass(50 * kWindow, kRound, ~0U);
    way.hear(kWindow, 0);
  }
  EXPECT_LE(way.cc.window_bytes(), 60U);
  EXPECT_GE(way.cc.window_bytes(), 1U);
  EXPECT_GE(way.cc.rate(), Rate::megabits(1));
  for (int i = 0; i < 5000; ++i) {
    way.pass(0);
    way.hear(kWindow, 0);
  }
  EXPECT_EQ(way.cc.window_bytes(), kWindow);
  EXPECT_EQ(way.cc.rate(), kLine);
}

// 100 Mb/s for 8 us are 100 bytes.
TEST(Hpcc, HasAConfigurableMinimum) {
  HpccParameters p = parameters();
  p.minimum_rate = Rate::megabits(100);
  Way way{1, p};
  for (int i = 0; i < 200; ++i) {
    way.pass(50 * kWindow, kRound, ~0U);
    way.hear(kWindow, 0);
  }
  EXPECT_EQ(way.cc.window_bytes(), 100U);
  EXPECT_EQ(way.cc.rate(), Rate::megabits(100));
  p.minimum_rate = Rate::gigabits(500);
  Way fast{1, p};
  fast.pass(kWindow);
  fast.hear(1000);
  EXPECT_EQ(fast.cc.window_bytes(), kWindow) << "the minimum is not above the line";
}

TEST(Hpcc, IgnoresReportsWithoutInformation) {
  const auto after = [](auto change) {
    Way way;
    way.pass(2 * kWindow);
    way.hear(1000);
    const std::uint64_t before = way.cc.window_bytes();
    change(way.links[0]);
    way.hear(1);
    way.hear(1);
    // The utilisation is unchanged; the window is computed from it again.
    EXPECT_EQ(way.cc.window_bytes(), before * 95 / 200 + 50);
  };
  after([](HopTelemetry&) {});  // equal timestamps
  after([](HopTelemetry& hop) { --hop.timestamp_ps; });
  after([](HopTelemetry& hop) { hop.timestamp_ps += kRound, hop.line_rate_bps = 0; });
  after([](HopTelemetry& hop) { hop.timestamp_ps += kRound, hop.transmitted_bytes = 0; });
}

TEST(Hpcc, RestartsWhenThePathChanges) {
  Way way{2};
  way.pass(9 * kWindow, kRound, 0, 0);
  way.links.push_back({.transmitted_bytes = 1, .timestamp_ps = 1, .line_rate_bps = 1});
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), kWindow) << "of three links none is known";
  way.links.resize(1);
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), kWindow);
  way.links.clear();
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), kWindow);
}

TEST(Hpcc, TakesTheFirstEightOfManyLinks) {
  Way way{20};
  way.pass(50 * kWindow, kRound, 0, 19);
  way.pass(2 * kWindow, kRound, 0, 7);
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), kWindow * 95 / 200 + 50);
}

TEST(Hpcc, CountsAcrossTheWrapOfClocksAndCounters) {
  Way way;
  way.links[0] = {.transmitted_bytes = ~std::uint64_t{0} - 5,
                  .timestamp_ps = ~std::uint64_t{0} - 7,
                  .line_rate_bps = kLine.bits_per_second()};
  way.links.push_back(way.links[0]);  // another path, so that it is not compared with the last
  way.hear(0);
  way.pass(2 * kWindow);
  way.hear(1000);
  EXPECT_EQ(way.cc.window_bytes(), kWindow * 95 / 200 + 50);
}

TEST(Hpcc, SurvivesAnything) {
  Prng prng{9};
  const HpccParameters wild[]{
      {.eta = 0, .most_stages = 0, .base_round_trip = {}, .flows = 0},
      {.eta = ~0U, .most_stages = ~0U, .base_round_trip = Duration::max(), .flows = ~0U}};
  for (const HpccParameters& p : wild) {
    for (const Rate line : {Rate{}, Rate::bits_per_second(1), Rate::bits_per_second(~0ULL)}) {
      Hpcc cc{p, line};
      for (int i = 0; i < 500; ++i) {
        std::vector<HopTelemetry> hops(prng.below(4));
        const auto draw = [&] { return prng.next() >> prng.below(64); };
        for (HopTelemetry& hop : hops) {
          hop = {draw(), draw(), draw(), static_cast<std::uint32_t>(draw())};
        }
        cc.on_ack({.acked_bytes = draw(), .outstanding_bytes = draw(), .telemetry = hops});
        cc.on_send(draw(), Time{});
        ASSERT_LE(cc.rate(), line);
        ASSERT_GE(cc.window_bytes(), 1U);
      }
    }
  }
}

// W_AI for two flows: shares converge within milliseconds, and the queue stays nearly empty.
TEST(Hpcc, SharesALinkFairlyWithoutAQueue) {
  HpccParameters p = parameters();
  p.flows = 2;
  Hpcc a{p, kLine}, b{p, kLine};
  test::ToyLink link{kLine, microseconds{8}};
  link.run({&a, &b}, milliseconds{20});
  EXPECT_NEAR(link.share(a), link.share(b), 0.05);
  EXPECT_GT(link.share(a) + link.share(b), 0.85);
  EXPECT_LT(link.queue, kWindow / 4.0);
}

}  // namespace nerve::nic::hpcc_test
