// The reaction point against sequences computed by hand from the paper's equations.
#include "nic/flow_control/dcqcn.h"

#include <gtest/gtest.h>

#include <limits>

#include "nic/counters.h"

namespace nerve::nic {
namespace {

using std::chrono::days;
using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Rate kLine = Rate::gigabits(40);
constexpr std::uint64_t kMega = 1'000'000;
const DcqcnParameters kPaper{};
const Duration kStage = kPaper.increase_timer;

std::uint64_t megabits(const Dcqcn& cc) { return cc.rate().bits_per_second() / kMega; }
Time at(Duration d) { return Time{d}; }

}  // namespace

TEST(Dcqcn, StartsAtLineRateAndStaysThere) {
  Dcqcn cc{kPaper, kLine};
  EXPECT_EQ(cc.rate(), kLine);
  EXPECT_EQ(cc.window_bytes(), std::numeric_limits<std::uint64_t>::max());
  cc.on_send(1'000'000'000, at(microseconds{1}));
  cc.catch_up(at(milliseconds{100}));
  EXPECT_EQ(cc.rate(), kLine);
}

// Alpha is one at first: RC = RC (1 - 1/2), and alpha stays (1 - g) 1 + g = 1.
TEST(Dcqcn, HalvesOnTheFirstCnps) {
  Dcqcn cc{kPaper, kLine};
  cc.on_cnp(at(microseconds{0}));
  EXPECT_EQ(megabits(cc), 20'000u);
  EXPECT_EQ(cc.target(), kLine);
  EXPECT_EQ(cc.alpha(), Dcqcn::kOne);
  cc.on_cnp(at(microseconds{50}));
  EXPECT_EQ(megabits(cc), 10'000u);
  EXPECT_EQ(cc.target(), Rate::gigabits(20));
}

// With g = 1/4, three quiet alpha timers: alpha = (3/4)^3 = 27/64. Three stages have brought the
// rate from 20 to 37.5 Gb/s. The cut is 27/128 of that, and the CNP brings alpha to
// 3/4 * 27/64 + 1/4 = 145/256. All of it exact in binary.
TEST(Dcqcn, LetsAlphaDecayWhileItIsQuiet) {
  DcqcnParameters p = kPaper;
  p.g_inverse = 4;
  Dcqcn cc{p, kLine};
  cc.on_cnp(at(microseconds{0}));
  cc.on_cnp(at(microseconds{3 * 55 + 54}));
  EXPECT_EQ(cc.rate().bits_per_second(), 37'500 * kMega - 37'500 * kMega * 27 / 128);
  EXPECT_EQ(cc.alpha(), Dcqcn::kOne * 145 / 256);
}

TEST(Dcqcn, CutsOnceInADecreaseInterval) {
  Dcqcn cc{kPaper, kLine};
  cc.on_cnp(at(microseconds{100}));
  cc.on_cnp(at(microseconds{101}));
  cc.on_cnp(at(microseconds{104}) - Duration{1});
  EXPECT_EQ(megabits(cc), 20'000u);
  cc.on_cnp(at(microseconds{104}));
  EXPECT_EQ(megabits(cc), 10'000u);
}

TEST(Dcqcn, StaysAboveItsMinimum) {
  Dcqcn cc{kPaper, kLine};
  for (int i = 0; i < 100; ++i) cc.on_cnp(at(microseconds{50 * i}));
  EXPECT_EQ(cc.rate(), kPaper.minimum_rate);
}

// RT = 20, RC = 10: five halvings of the gap, then RT grows by 40 Mb/s at each stage.
TEST(Dcqcn, RecoversFastThenAdditively) {
  Dcqcn cc{kPaper, kLine};
  cc.on_cnp(at(microseconds{0}));
  cc.on_cnp(at(microseconds{50}));
  const Time start = at(microseconds{50});
  const std::uint64_t expected_kilobits[] = {15'000'000, 17'500'000, 18'750'000, 19'375'000,
                                             19'687'500, 19'863'750, 19'971'875};
  Time now = start;
  for (const std::uint64_t kilobits : expected_kilobits) {
    now += kStage;
    cc.catch_up(now - Duration{1});
    cc.catch_up(now);
    EXPECT_EQ(cc.rate().bits_per_second() / 1000, kilobits);
  }
  EXPECT_EQ(cc.target(), Rate::megabits(20'080));
}

// The byte counter moves through the same stages as the timer; it does not matter
// how often one looks.
TEST(Dcqcn, CountsBytesAndTimeAlike) {
  Dcqcn by_time{kPaper, kLine}, by_bytes{kPaper, kLine}, late{kPaper, kLine};
  for (Dcqcn* cc : {&by_time, &by_bytes, &late}) {
    cc->on_cnp(at(microseconds{0}));
    cc->on_cnp(at(microseconds{50}));
  }
  for (int stage = 1; stage <= 8; ++stage) {
    by_time.catch_up(at(microseconds{50} + stage * kStage));
    by_bytes.on_send(4'000'000, at(microseconds{60}));
    by_bytes.on_send(6'000'000, at(microseconds{60}));
    EXPECT_EQ(by_time.rate(), by_bytes.rate()) << stage;
  }
  late.catch_up(at(microseconds{50} + 8 * kStage));
  EXPECT_EQ(late.rate(), by_time.rate());
}

// Both counters beyond F stages: the target grows by the hyper step.
TEST(Dcqcn, GrowsFasterWhenBothCountersAgree) {
  Dcqcn cc{kPaper, kLine};
  for (int i = 0; i < 4; ++i) cc.on_cnp(at(microseconds{50 * i}));
  const Time start = at(microseconds{150});
  for (int i = 1; i <= 6; ++i) cc.catch_up(start + i * kStage);
  for (int i = 1; i <= 6; ++i) cc.on_send(kPaper.byte_counter, start);
  const std::uint64_t before = cc.target().bits_per_second();
  cc.catch_up(start + 7 * kStage);
  EXPECT_EQ(cc.target().bits_per_second() - before, 400 * kMega);
}

// From half the line rate with RT at the line, the gap is 2^-(n+1) of the line after n stages; a
// thousandth counts as recovered, hence nine stages.
TEST(Dcqcn, IsBackAtLineRateWhenExpected) {
  Dcqcn cc{kPaper, kLine};
  cc.on_cnp(at(microseconds{0}));
  cc.catch_up(at(8 * kStage));
  EXPECT_LT(cc.rate(), kLine);
  cc.catch_up(at(9 * kStage));
  EXPECT_EQ(cc.rate(), kLine);
  cc.catch_up(at(milliseconds{100}));
  EXPECT_EQ(cc.rate(), kLine);
}

// After two cuts RT is 20 Gb/s below the line: about 20 / 0.04 = 500 additive stages.
TEST(Dcqcn, ClimbsAdditivelyInTheExpectedTime) {
  Dcqcn cc{kPaper, kLine};
  cc.on_cnp(at(microseconds{0}));
  cc.on_cnp(at(microseconds{50}));
  int stages = 0;
  for (; cc.rate() < kLine; ++stages) cc.catch_up(at(microseconds{50} + (stages + 1) * kStage));
  EXPECT_GE(stages, 495);
  EXPECT_LE(stages, 510);
}

// Two cuts in a row are undone as one: the rate grows from a quarter of the line to the whole.
TEST(Dcqcn, MayLetTheTargetBeUntilTheRateHasGrown) {
  DcqcnParameters p = kPaper;
  p.clamp_target = false;
  Dcqcn cc{p, kLine};
  cc.on_cnp(at(microseconds{0}));
  cc.on_cnp(at(microseconds{10}));
  EXPECT_EQ(megabits(cc), 10'000u);
  EXPECT_EQ(cc.target(), kLine);
  cc.catch_up(at(microseconds{10} + kStage));
  EXPECT_EQ(megabits(cc), 25'000u);
  cc.on_cnp(at(microseconds{20} + kStage));
  EXPECT_EQ(cc.target(), Rate::gigabits(25));
}

// Three periods, a CNP in the first and the last of them: with g = 1/4 alpha is 1, then 3/4, then
// 3/4 * 3/4 + 1/4. Several CNPs in a period count once, when it ends.
TEST(Dcqcn, MayCountCnpsByPeriods) {
  DcqcnParameters p = kPaper;
  p.alpha_by_timer = true;
  p.g_inverse = 4;
  Dcqcn cc{p, kLine};
  cc.on_cnp(at(microseconds{0}));
  cc.on_cnp(at(microseconds{20}));
  EXPECT_EQ(cc.alpha(), Dcqcn::kOne);
  cc.on_cnp(at(microseconds{2 * 55 + 1}));
  EXPECT_EQ(cc.alpha(), Dcqcn::kOne * 3 / 4);
  cc.on_cnp(at(microseconds{2 * 55 + 30}));
  EXPECT_EQ(cc.alpha(), Dcqcn::kOne * 3 / 4);
  cc.on_cnp(at(microseconds{3 * 55}));
  EXPECT_EQ(cc.alpha(), Dcqcn::kOne * 13 / 16);
}

// The timer starts with the first CNP and ticks every 4 us; it cuts if a CNP has arrived since.
TEST(Dcqcn, MayCutByAClock) {
  DcqcnParameters p = kPaper;
  p.cut_by_timer = true;
  p.alpha_by_timer = true;
  Dcqcn cc{p, kLine};
  cc.on_cnp(at(microseconds{10}));
  EXPECT_EQ(cc.rate(), kLine);
  cc.on_cnp(at(microseconds{13}));
  cc.catch_up(at(microseconds{14}) - Duration{1});
  EXPECT_EQ(cc.rate(), kLine);
  cc.catch_up(at(microseconds{14}));
  EXPECT_EQ(megabits(cc), 20'000u);
  cc.catch_up(at(microseconds{18}));
  EXPECT_EQ(megabits(cc), 20'000u) << "no CNP, no cut";
  cc.on_cnp(at(microseconds{19}));
  cc.catch_up(at(microseconds{22}) - Duration{1});
  EXPECT_EQ(megabits(cc), 20'000u);
  cc.catch_up(at(microseconds{30}));
  EXPECT_EQ(megabits(cc), 10'000u);
  cc.catch_up(at(microseconds{22}) + kStage - Duration{1});
  EXPECT_EQ(megabits(cc), 10'000u) << "the stage is counted from the tick";
  cc.catch_up(at(microseconds{22}) + kStage);
  EXPECT_EQ(megabits(cc), 15'000u);
}

// Without a byte counter the timer alone leads to hyper increase, after F stages and one more.
TEST(Dcqcn, GrowsByTimeAloneWithoutAByteCounter) {
  DcqcnParameters p = kPaper;
  p.byte_counter = 0;
  p.fast_recovery_stages = 1;
  Dcqcn cc{p, kLine};
  for (int i = 0; i < 4; ++i) cc.on_cnp(at(microseconds{10 * i}));
  cc.on_send(1'000'000'000, at(microseconds{40}));
  const Time begin = at(microseconds{30});
  const std::uint64_t before = cc.target().bits_per_second();
  cc.catch_up(begin + kStage);
  EXPECT_EQ(cc.target().bits_per_second(), before);
  cc.catch_up(begin + 2 * kStage);
  EXPECT_EQ(cc.target().bits_per_second(), before + 40 * kMega);
  cc.catch_up(begin + 3 * kStage);
  EXPECT_EQ(cc.target().bits_per_second(), before + 440 * kMega);
}

// A QP that has not sent for so long that the clock has wrapped is not limited any more, in either
// way of cutting.
TEST(Dcqcn, ForgetsACutOfMonthsAgo) {
  for (const bool by_timer : {false, true}) {
    DcqcnParameters p = kPaper;
    p.cut_by_timer = by_timer;
    Dcqcn cc{p, kLine};
    cc.on_cnp(at(microseconds{10}));
    const Time later = at(days{100}) + days{10};
    cc.catch_up(later);
    EXPECT_EQ(cc.rate(), kLine);
    cc.catch_up(later + microseconds{20});
    EXPECT_EQ(cc.rate(), kLine);
  }
}

TEST(Dcqcn, SurvivesAWildConfiguration) {
  const DcqcnParameters wild{.g_inverse = 0,
                             .alpha_timer = {},
                             .increase_timer = Duration{-1},
                             .decrease_interval = {},
                             .byte_counter = 0,
                             .fast_recovery_stages = 0,
                             .additive_increase = {},
                             .hyper_increase = {},
                             .minimum_rate = Rate::gigabits(500)};
  Dcqcn cc{wild, kLine};
  cc.on_cnp(at(microseconds{1}));
  EXPECT_EQ(cc.rate(), kLine) << "the minimum is not above the line";
  DcqcnParameters low = wild;
  low.minimum_rate = {};
  Dcqcn slow{low, kLine};
  for (int i = 0; i < 100; ++i) slow.on_cnp(at(microseconds{1}));
  EXPECT_GT(slow.rate(), Rate{});
  slow.on_send(1000, at(microseconds{2}));
  slow.catch_up(at(milliseconds{1}));
}

TEST(CongestionControl, IsNothingWhereNoneIsAskedFor) {
  Counters counters;
  EXPECT_EQ(make_congestion_control({}, kLine, 4096, counters), nullptr);
  const auto cc =
      make_congestion_control({.algorithm = CcAlgorithm::kDcqcn}, kLine, 4096, counters);
  ASSERT_NE(cc, nullptr);
  EXPECT_EQ(cc->rate(), kLine);
}

}  // namespace nerve::nic
