#include "nic/flow_control/pacer.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/prng.h"
#include "tests/seeds.h"

namespace nerve::nic::pacer_test {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

}  // namespace

// A second of frames carries a second of bytes, within one frame, at rates that divide nothing
// evenly and with frames of every size.
TEST(Pacer, KeepsItsRateToWithinAFrame) {
  nerve::test::for_each_seed(20, [](std::uint64_t seed) {
    Prng prng{seed};
    const std::uint64_t bps = prng.between(100'000'000, 30'000'000'000);
    const std::uint64_t largest = prng.between(64, 4200);
    const Rate rate = Rate::bits_per_second(bps);
    Pacer pacer;
    std::uint64_t sent = 0;
    const Time start{Duration{-1'000'000}};
    pacer.reset(start);
    while (pacer.next_send() < start + seconds{1}) {
      const std::uint64_t frame = prng.between(1, largest);
      pacer.on_send(frame, rate, pacer.next_send());
      sent += frame;
    }
    EXPECT_GE(sent, bps / 8);
    EXPECT_LE(sent, bps / 8 + largest);
  });
}

TEST(Pacer, GivesNoCreditForIdleTime) {
  Pacer pacer;
  const Rate rate = Rate::gigabits(8);  // a byte in a nanosecond
  const Time later{microseconds{100}};
  EXPECT_TRUE(pacer.may_send(later));
  pacer.on_send(1000, rate, later);
  EXPECT_FALSE(pacer.may_send(later));
  EXPECT_EQ(pacer.next_send(), later + microseconds{1});
}

// With an allowance of four frames, five are sent at once after an idle period: the allowance and
// the frame that is due.
TEST(Pacer, LetsABurstGoAndNoMore) {
  Pacer pacer{4000};
  const Rate rate = Rate::gigabits(8);
  const Time now{microseconds{100}};
  int sent = 0;
  while (pacer.may_send(now)) {
    pacer.on_send(1000, rate, now);
    ++sent;
  }
  EXPECT_EQ(sent, 5);
  EXPECT_EQ(pacer.next_send(), now + microseconds{1});
}

// A sender that is woken every 10 us instead of every 1.3 us keeps its rate with an allowance;
// without one it is late each time.
TEST(Pacer, CatchesUpWithLateWakeups) {
  const Rate rate = Rate::gigabits(10);
  const auto bytes_in_a_millisecond = [&](Pacer pacer) {
    std::uint64_t sent = 0;
    for (int tick = 0; tick < 100; ++tick) {
      const Time now{microseconds{10 * tick}};
      while (pacer.may_send(now)) {
        pacer.on_send(1600, rate, now);
        sent += 1600;
      }
    }
    return sent;
  };
  EXPECT_GE(bytes_in_a_millisecond(Pacer{Pacer::kTrainBurst}), 1'230'000u);
  EXPECT_LE(bytes_in_a_millisecond(Pacer{Pacer::kTrainBurst}), 1'270'000u);
  EXPECT_LE(bytes_in_a_millisecond(Pacer{}), 200'000u);
}

// 1 250 bytes take 10 us at 1 Gb/s, 5 at 2 Gb/s, 100 at 100 Mb/s, counted from when they were sent,
// however often the rate changes, and also when the first gap is over.
TEST(Pacer, KeepsTheGapOfTheNewRateFromTheLastFrame) {
  Pacer pacer;
  pacer.on_send(700, Rate::gigabits(1), Time{});
  const Time sent = pacer.next_send();
  pacer.on_send(1250, Rate::gigabits(1), sent);
  pacer.change_rate(Rate::gigabits(2));
  EXPECT_EQ(pacer.next_send(), sent + microseconds{5});
  EXPECT_TRUE(pacer.may_send(sent + microseconds{5}));
  pacer.change_rate(Rate::megabits(100));
  EXPECT_EQ(pacer.next_send(), sent + microseconds{100});
  pacer.change_rate(Rate::gigabits(1));
  EXPECT_EQ(pacer.next_send(), sent + microseconds{10});
}

// With an allowance, late frames are sent at the new rate too.
TEST(Pacer, LagsByNoMoreThanItsAllowanceAfterAChange) {
  Pacer pacer{1250};
  const Time now{microseconds{500}};
  pacer.on_send(1250, Rate::gigabits(1), now);
  pacer.change_rate(Rate::megabits(500));
  EXPECT_EQ(pacer.next_send(), now + microseconds{10});
  pacer.change_rate(Rate{});
  EXPECT_EQ(pacer.next_send(), now + microseconds{10}) << "no rate, no change";
}

TEST(Pacer, TakesNewRatesHugeFramesAndNoRate) {
  Pacer pacer;
  const Time now{};
  pacer.on_send(1000, Rate::gigabits(8), now);
  pacer.on_send(1000, Rate::gigabits(4), now);
  EXPECT_EQ(pacer.next_send(), now + microseconds{3});
  pacer.on_send(std::uint64_t{1} << 31, Rate::gigabits(8), now);
  EXPECT_EQ(pacer.next_send(), now + microseconds{3} + std::chrono::nanoseconds{1LL << 31});
  pacer.on_send(1000, Rate{}, now);
  EXPECT_TRUE(pacer.may_send(now));
}

}  // namespace nerve::nic::pacer_test
