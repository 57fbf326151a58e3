// TIMELY against rates computed by hand from the paper's algorithm 1.
#include "nic/flow_control/timely.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/prng.h"
#include "tests/nic/flow_control/toy_link.h"

namespace nerve::nic::timely_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Rate kLine = Rate::gigabits(10);
const TimelyParameters kPaper{};  // low 50 us, high 500 us, least 20 us, beta 0.8, step 10 Mb/s

void hear(Timely& cc, Duration round_trip) { cc.on_ack({.round_trip = round_trip}); }
std::uint64_t megabits(const Timely& cc) { return cc.rate().bits_per_second() / 1'000'000; }

}  // namespace

TEST(Timely, StartsAtLineRateAndNeedsTwoSamples) {
  Timely cc{kPaper, kLine};
  EXPECT_EQ(cc.rate(), kLine);
  EXPECT_EQ(cc.window_bytes(), std::numeric_limits<std::uint64_t>::max());
  hear(cc, milliseconds{5});
  EXPECT_EQ(cc.rate(), kLine);
}

// 1 - 0.8 (1 - 500 / 1000) = 0.6.
TEST(Timely, CutsByTheExcessAboveTheHighThreshold) {
  Timely cc{kPaper, kLine};
  hear(cc, microseconds{1000});
  hear(cc, microseconds{1000});
  EXPECT_EQ(megabits(cc), 6'000U);
  hear(cc, microseconds{1000});
  EXPECT_EQ(megabits(cc), 3'600U);
}

TEST(Timely, GrowsBelowTheLowThresholdWhateverTheGradient) {
  Timely cc{kPaper, kLine};
  hear(cc, microseconds{1000});
  hear(cc, microseconds{1000});
  hear(cc, microseconds{30});
  EXPECT_EQ(megabits(cc), 6'010U);
  hear(cc, microseconds{49});
  EXPECT_EQ(megabits(cc), 6'020U);
}

// 10 us more, of which 7/8 count: 8.75 us over 20 us is 0.4375, and 1 - 0.8 * 0.4375 = 0.65. Then
// an eighth of it is left: 1.09375 us, 0.0546875; in millionths, rounded down, 43 749 are cut.
TEST(Timely, CutsByTheGradient) {
  Timely cc{kPaper, kLine};
  hear(cc, microseconds{100});
  hear(cc, microseconds{110});
  EXPECT_EQ(megabits(cc), 6'500U);
  hear(cc, microseconds{110});
  EXPECT_EQ(cc.rate().bits_per_second(), 6'500'000'000 / 1'000'000 * (1'000'000U - 43'749));
}

TEST(Timely, TakesAGradientAboveOneForOne) {
  Timely cc{kPaper, kLine};
  hear(cc, microseconds{100});
  hear(cc, microseconds{400});
  EXPECT_EQ(megabits(cc), 2'000U);
}

// Four single steps, then five at a time; a rise restarts the count.
TEST(Timely, GrowsFasterAfterFiveGoodSamples) {
  Timely cc{kPaper, kLine};
  hear(cc, microseconds{100});
  hear(cc, microseconds{400});
  for (const std::uint64_t expected : {2'010U, 2'020U, 2'030U, 2'040U, 2'090U, 2'140U}) {
    hear(cc, microseconds{100});
    EXPECT_EQ(megabits(cc), expected);
  }
  hear(cc, microseconds{120});
  const std::uint64_t cut = megabits(cc);
  EXPECT_LT(cut, 2'140U);
  hear(cc, microseconds{60});
  EXPECT_EQ(megabits(cc), cut + 10);
}

// As in other implementations: two samples below the low threshold count, steps are taken three at
// a time, and a gradient of 1.09375 cuts by 0.875.
TEST(Timely, MayCountLowSamplesAndSteepGradients) {
  TimelyParameters p = kPaper;
  p.hyper_after = 3;
  p.hyper_steps = 3;
  p.low_is_good = true;
  p.steepest = 2000;
  Timely cc{p, kLine};
  hear(cc, microseconds{100});
  hear(cc, microseconds{125});
  EXPECT_EQ(megabits(cc), 1'250U);
  for (const std::uint64_t expected : {1'260U, 1'270U, 1'300U, 1'330U}) {
    hear(cc, microseconds{30});
    EXPECT_EQ(megabits(cc), expected);
  }
  hear(cc, microseconds{400});
  EXPECT_EQ(cc.rate(), p.minimum_rate) << "a cut of all there is";
}

// With one at a time, the next measurement uses a packet sent after the last one returned.
TEST(Timely, MayMeasureOneRoundTripAtATime) {
  TimelyParameters p = kPaper;
  p.samples = 1;
  Timely cc{p, kLine};
  const auto at = [](int us) { return Time{microseconds{us}}; };
  RoundTrips& trips = *cc.round_trips();
  for (std::uint32_t i = 0; i < 4; ++i) trips.on_send(Psn{i}, at(static_cast<int>(i)));
  EXPECT_EQ(trips.on_ack(Psn{1}, at(10)), microseconds{10});
  EXPECT_EQ(trips.on_ack(Psn{2}, at(11)), std::nullopt);
  trips.on_send(Psn{4}, at(12));
  EXPECT_EQ(trips.on_ack(Psn{4}, at(13)), std::nullopt);
  EXPECT_EQ(trips.on_ack(Psn{5}, at(22)), microseconds{10});
}

TEST(Timely, StaysBetweenItsMinimumAndTheLine) {
  Timely cc{kPaper, kLine};
  for (int i = 0; i < 100; ++i) hear(cc, milliseconds{100});
  EXPECT_EQ(cc.rate(), kPaper.minimum_rate);
  for (int i = 0; i < 2000; ++i) hear(cc, microseconds{10});
  EXPECT_EQ(cc.rate(), kLine);
}

TEST(Timely, HeedsOnlyRoundTrips) {
  Timely cc{kPaper, kLine};
  hear(cc, microseconds{1000});
  hear(cc, microseconds{1000});
  const Rate before = cc.rate();
  hear(cc, Duration{});
  hear(cc, Duration{-1});
  hear(cc, Duration::min());
  cc.on_ack({.acked_bytes = 1 << 20, .ecn_echo = true});
  cc.on_cnp(Time{});
  cc.on_nak(Time{});
  cc.on_timeout(Time{});
  cc.on_send(1 << 20, Time{});
  cc.catch_up(Time{});
  EXPECT_EQ(cc.rate(), before);
}

// It uses no clock: a round trip across the wrap of time has its normal length.
TEST(Timely, IsNotConfusedByLongRoundTrips) {
  Timely cc{kPaper, kLine};
  hear(cc, Duration::max());
  hear(cc, Duration{1});
  hear(cc, Duration::max());
  EXPECT_GE(cc.rate(), kPaper.minimum_rate);
  EXPECT_LT(cc.rate(), Rate::gigabits(3));
}

TEST(Timely, SurvivesAWildConfiguration) {
  const TimelyParameters wild[]{{.newest_weight = 0,
                                 .beta = 0,
                                 .low = {},
                                 .high = {},
                                 .minimum_round_trip = {},
                                 .step = {},
                                 .hyper_after = 0,
                                 .hyper_steps = 0,
                                 .steepest = 0,
                                 .samples = 0,
                                 .minimum_rate = {}},
                                {.newest_weight = ~0U,
                                 .beta = ~0U,
                                 .low = Duration::max(),
                                 .high = Duration::min(),
                                 .minimum_round_trip = Duration::max(),
                                 .step = Rate::bits_per_second(~std::uint64_t{0}),
                                 .hyper_after = ~0U,
                                 .hyper_steps = ~0U,
                                 .low_is_good = true,
                                 .steepest = ~0U,
                                 .samples = ~0U,
                                 .minimum_rate = Rate::bits_per_second(~std::uint64_t{0})}};
  Prng prng{5};
  for (const TimelyParameters& parameters : wild) {
    for (const Rate line : {Rate{}, Rate::bits_per_second(1), kLine}) {
      Timely cc{parameters, line};
      for (int i = 0; i < 1000; ++i) {
        hear(cc, Duration{static_cast<std::int64_t>(prng.next() >> prng.below(64))});
        ASSERT_LE(cc.rate(), line);
      }
    }
  }
}

// The queue settles between the thresholds and the link is full. The shares need not be equal:
// TIMELY has no single fixed point (Zhu et al., "ECN or Delay", CoNEXT 2016).
TEST(Timely, FillsALinkThatTwoFlowsShare) {
  Timely a{kPaper, kLine}, b{kPaper, kLine};
  test::ToyLink link{kLine, microseconds{20}};
  link.run({&a, &b}, milliseconds{300});
  double used = 0;
  double longest = 0;
  for (int i = 0; i < 100; ++i) {
    link.run({&a, &b}, milliseconds{1});
    used += (link.share(a) + link.share(b)) / 100;
    longest = std::max(longest, link.round_trip());
  }
  EXPECT_GT(used, 0.85);
  EXPECT_LT(used, 1.1);
  EXPECT_LT(longest, 600e-6);
  EXPECT_GT(link.share(a), 0.1);
  EXPECT_GT(link.share(b), 0.1);
}

}  // namespace nerve::nic::timely_test
