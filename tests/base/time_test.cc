#include "base/time.h"

#include <gtest/gtest.h>

#include "base/rate.h"

namespace nerve {

TEST(Time, OrdersAcrossTheWrap) {
  const Time before{Duration{-5}};
  const Time after = before + Duration{10};
  EXPECT_LT(before, after);
  EXPECT_EQ(after - before, Duration{10});
}

TEST(Rate, RoundsTheTimeToSendUp) {
  EXPECT_EQ(Rate::gigabits(100).time_to_send(1000), std::chrono::nanoseconds{80});
  EXPECT_EQ(Rate::bits_per_second(3).time_to_send(1), Duration{2'666'666'666'667});
}

}  // namespace nerve
