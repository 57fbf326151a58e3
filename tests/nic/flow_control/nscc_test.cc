// Goal: NSCC follows its four cases, quick adapt and its bounds. Method: windows worked out by hand
// for 100 Gb/s, a base round trip of 12 us (150 000 bytes) and packets of 4096 bytes, for which the
// steps are not scaled; two flows on one link.
#include "nic/flow_control/nscc.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "tests/nic/flow_control/toy_link.h"

namespace nerve::nic::nscc_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Rate kLine = Rate::gigabits(100);
constexpr std::uint32_t kPacket = 4096;
constexpr std::uint64_t kLargest = 225'000;

// A target of 12 us, so that the reference round trip cancels out.
NsccParameters plain() {
  NsccParameters p;
  p.target = microseconds{12};
  p.steady_increase = 0;
  return p;
}
Time at(Duration since_start) { return Time{since_start}; }
AckSample ack(Duration now, Duration round_trip, std::uint64_t bytes, bool marked = false) {
  return {.now = at(now),
          .acked_bytes = bytes,
          .outstanding_bytes = 100'000,
          .round_trip = round_trip,
          .ecn_echo = marked};
}
// Brings the window down by packets that were trimmed one after the other.
void shrink(Nscc& cc, std::uint64_t to, Duration now) {
  while (cc.window_bytes() > to + kPacket) cc.on_trim(kPacket, at(now));
  if (cc.window_bytes() > to) cc.on_trim(cc.window_bytes() - to, at(now));
}

}  // namespace

TEST(Nscc, StartsWithOneAndAHalfBandwidthDelayProducts) {
  const Nscc cc{plain(), kLine, kPacket};
  EXPECT_EQ(cc.window_bytes(), kLargest);
  EXPECT_EQ(cc.rate(), kLine);
}

// Without marks and with half of the target as delay: 4 packets * (12 - 6) us / 12 us for a window
// that is acknowledged.
TEST(Nscc, UnmarkedAndBelowTheTargetGrowsInProportionToTheDistance) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  shrink(cc, 100'000, microseconds{2});
  cc.on_ack(ack(microseconds{20}, microseconds{18}, 100'000));
  EXPECT_EQ(cc.window_bytes(), 100'000U + 4 * kPacket / 2);
}

// 5 packets for a window that is acknowledged.
TEST(Nscc, UnmarkedAndAboveTheTargetGrowsAsAllOthersDo) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  shrink(cc, 100'000, microseconds{2});
  cc.on_ack(ack(microseconds{20}, microseconds{30}, 100'000));
  EXPECT_EQ(cc.window_bytes(), 100'000U + 5 * kPacket);
}

TEST(Nscc, MarkedAndBelowTheTargetChangesNothing) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  shrink(cc, 100'000, microseconds{2});
  cc.on_ack(ack(microseconds{20}, microseconds{18}, 100'000, true));
  EXPECT_EQ(cc.window_bytes(), 100'000U);
}

// The mean delay of many samples of 24 us approaches 24 us: the window is multiplied by
// 1 - 0.8 * (24 - 12) / 24, once a round trip.
TEST(Nscc, MarkedAndAboveTheTargetDecreasesByTheMeanDelay) {
  NsccParameters p = plain();
  p.newest_weight_per_10k = 10'000;
  Nscc cc{p, kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  cc.on_ack(ack(microseconds{20}, microseconds{36}, 100'000, true));
  EXPECT_EQ(cc.mean_delay(), microseconds{24});
  EXPECT_EQ(cc.window_bytes(), kLargest * 600 / 1000);
  cc.on_ack(ack(microseconds{25}, microseconds{36}, 100'000, true));
  EXPECT_EQ(cc.window_bytes(), kLargest * 600 / 1000);
}

TEST(Nscc, OneLongDelayHardlyMovesTheMean) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  cc.on_ack(ack(microseconds{20}, microseconds{112}, 100'000, true));
  EXPECT_EQ(cc.mean_delay(), Duration{1'250'000});  // 100 us * 0.0125
  EXPECT_EQ(cc.window_bytes(), kLargest);
}

// A whole window without queues, then a quarter of what is acknowledged.
TEST(Nscc, GrowsFastAfterAWindowWithoutQueues) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  shrink(cc, 50'000, microseconds{2});
  cc.on_ack(ack(microseconds{20}, microseconds{12}, 50'001));
  const std::uint64_t first = cc.window_bytes();
  EXPECT_EQ(first, 50'000U + 50'001U / 4);
  cc.on_ack(ack(microseconds{21}, microseconds{12}, 4'000));
  EXPECT_EQ(cc.window_bytes(), first + 1'000);
}

TEST(Nscc, ATrimmedPacketTakesItsBytesFromTheWindow) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  cc.on_trim(kPacket, at(microseconds{2}));
  EXPECT_EQ(cc.window_bytes(), kLargest - kPacket);
}

// In the period of quick adapt only 20 000 bytes arrived, less than an eighth of the largest
// window. The answers for the 100 000 bytes in flight do not shrink it further.
TEST(Nscc, QuickAdaptTakesWhatArrived) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  cc.on_ack(ack(microseconds{2}, microseconds{13}, 20'000));
  cc.on_trim(kPacket, at(microseconds{30}));
  EXPECT_EQ(cc.window_bytes(), 20'000U);
  for (int i = 0; i < 20; ++i) cc.on_trim(kPacket, at(microseconds{31 + i}));
  EXPECT_EQ(cc.window_bytes(), 20'000U);
}

TEST(Nscc, QuickAdaptLeavesAFlowAloneThatGetsItsShare) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{12}, 1));
  cc.on_ack(ack(microseconds{2}, microseconds{13}, 60'000));
  const std::uint64_t before = cc.window_bytes();
  cc.on_trim(kPacket, at(microseconds{30}));
  EXPECT_EQ(cc.window_bytes(), before - kPacket);
}

TEST(Nscc, StaysWithinItsBounds) {
  Nscc cc{plain(), kLine, kPacket};
  for (int i = 0; i < 1000; ++i) cc.on_trim(kPacket, at(microseconds{i}));
  EXPECT_EQ(cc.window_bytes(), kPacket);
  for (int i = 0; i < 10'000; ++i) {
    cc.on_ack(ack(milliseconds{2} + microseconds{i}, microseconds{12}, 4096));
  }
  EXPECT_EQ(cc.window_bytes(), kLargest);
}

// A path that is shorter than the longest of the network.
TEST(Nscc, LearnsAShorterRoundTrip) {
  Nscc cc{plain(), kLine, kPacket};
  cc.on_ack(ack(microseconds{1}, microseconds{6}, 1));
  EXPECT_EQ(cc.base_round_trip(), microseconds{6});
  EXPECT_LE(cc.window_bytes(), kLargest / 2);
}

TEST(Nscc, SurvivesHostileSamplesAndParameters) {
  NsccParameters p;
  p.base_round_trip = Duration{-1};
  p.target = Duration{0};
  p.increase = p.fair_increase = p.fast_increase = p.largest = p.quick_delay = ~0U;
  p.gamma = p.most_cut = p.newest_weight_per_10k = ~0U;
  p.quick_gate = 0;
  Prng prng{1};
  for (const NsccParameters& one : {p, NsccParameters{}}) {
    Nscc cc{one, Rate::gigabits(1'600), 0};
    for (int i = 0; i < 20'000; ++i) {
      const auto trip = static_cast<std::int64_t>(prng.next());
      cc.on_ack({.now = Time{Duration{static_cast<std::int64_t>(prng.next() >> 2U)}},
                 .acked_bytes = prng.below(1ULL << prng.below(40)),
                 .outstanding_bytes = prng.next(),
                 .round_trip = prng.chance(500) ? std::optional{Duration{trip}} : std::nullopt,
                 .ecn_echo = prng.chance(500)});
      if (prng.chance(100)) cc.on_trim(prng.next(), Time{});
      EXPECT_GE(cc.window_bytes(), 1U);
    }
  }
}

TEST(Nscc, TwoFlowsFillALink) {
  NsccParameters p;
  Nscc one{p, kLine, kPacket}, two{p, kLine, kPacket};
  test::ToyLink link{kLine, p.base_round_trip};
  link.run({&one, &two}, milliseconds{5});
  EXPECT_GT(link.share(one) + link.share(two), 0.9);
}

}  // namespace nerve::nic::nscc_test
