#include "base/time.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "base/rate.h"
#include "tests/seeds.h"

namespace nerve {

TEST(Time, OrdersAcrossTheWrap) {
  const Time before{Duration{-5}};
  const Time after = before + Duration{10};
  EXPECT_LT(before, after);
  EXPECT_EQ(after - before, Duration{10});
}

TEST(Time, MovesThereAndBack) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    const Time start{Duration{static_cast<std::int64_t>(prng.next())}};
    const Duration step{static_cast<std::int64_t>(prng.next() >> 2U)};
    EXPECT_EQ(start + step - step, start);
    EXPECT_EQ((start + step) - start, step);
    EXPECT_EQ(start<start + step, step> Duration{0});
    Time moved = start;
    moved += step;
    EXPECT_EQ(moved, start + step);
  });
}

// A paced sender that waits this long never exceeds its rate; with one picosecond less it would.
TEST(Rate, NeverRunsAheadAndWastesLessThanAPicosecond) {
  test::for_each_seed(1'000, [](std::uint64_t seed) {
    Prng prng{seed};
    const std::uint64_t bps = 1 + (prng.next() >> prng.between(23, 50));
    const std::uint64_t bytes = prng.below(1U << 20U);
    const auto ps =
        static_cast<std::uint64_t>(Rate::bits_per_second(bps).time_to_send(bytes).count());
    __extension__ using Wide = unsigned __int128;
    const Wide bits_per_tera = static_cast<Wide>(bytes) * 8U * 1'000'000'000'000U;
    EXPECT_TRUE(static_cast<Wide>(ps) * bps >= bits_per_tera);
    EXPECT_TRUE(ps == 0 || static_cast<Wide>(ps - 1) * bps < bits_per_tera);
  });
}

TEST(Rate, SaturatesWhenTheTimeDoesNotFit) {
  EXPECT_EQ(Rate::bits_per_second(1).time_to_send(1U << 31U), Duration::max());
  EXPECT_EQ(Rate::bits_per_second(1).time_to_send(~std::uint64_t{0}), Duration::max());
}

TEST(Rate, ComparesAndCountsInBits) {
  EXPECT_LT(Rate::megabits(999), Rate::gigabits(1));
  EXPECT_EQ(Rate::megabits(1'000), Rate::gigabits(1));
  EXPECT_EQ(Rate::gigabits(400).bits_per_second(), 400'000'000'000U);
  EXPECT_DEATH(static_cast<void>(Rate{}.time_to_send(1)), "CHECK failed");
}

TEST(Rate, RoundsTheTimeToSendUp) {
  EXPECT_EQ(Rate::gigabits(100).time_to_send(1000), std::chrono::nanoseconds{80});
  EXPECT_EQ(Rate::bits_per_second(3).time_to_send(1), Duration{2'666'666'666'667});
}

}  // namespace nerve
