// A time more than 106 days ago compares as later than now, because Time wraps. A pacer that had
// sent nothing for that long, or that was created before its engine was given the time on a host
// with such an uptime, blocked its QP for months. Found by tests/dst (LifeWorlds, worlds that begin
// late).
#include <gtest/gtest.h>

#include "nic/flow_control/pacer.h"

namespace nerve::nic {

// Twice this is more than 106 days, and more than a Duration can hold.
constexpr Duration kSixtyDays = std::chrono::days{60};
constexpr std::uint64_t kFrame = 1'000;

TEST(PacerAcrossTheTimeWrap, SendsItsFirstFrameAtOnce) {
  Pacer pacer;
  const Time now = Time{} + kSixtyDays + kSixtyDays;
  EXPECT_TRUE(pacer.may_send(now));
  pacer.on_send(kFrame, Rate::gigabits(1), now);
  EXPECT_FALSE(pacer.may_send(now));
  EXPECT_EQ(pacer.next_send(), now + Rate::gigabits(1).time_to_send(kFrame));
}

TEST(PacerAcrossTheTimeWrap, SendsAtOnceAfterALongPause) {
  for (const std::uint32_t burst : {0U, Pacer::kTrainBurst}) {
    Pacer pacer{burst};
    Time now{};
    pacer.reset(now);
    pacer.on_send(kFrame, Rate::gigabits(1), now);
    now = now + kSixtyDays + kSixtyDays;
    ASSERT_TRUE(pacer.may_send(now));
    pacer.on_send(kFrame, Rate::gigabits(1), now);
    EXPECT_LE(pacer.next_send(), now + Rate::gigabits(1).time_to_send(kFrame));
    EXPECT_GE(pacer.next_send(), now - Rate::gigabits(1).time_to_send(burst));
  }
}

}  // namespace nerve::nic
