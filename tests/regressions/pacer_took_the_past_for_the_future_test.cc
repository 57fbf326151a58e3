// An instant more than 106 days old lies in the future by the rule of Time. A pacer that had sent
// nothing for so long, or that was set up before its engine was told the time on a host that had
// been up for so long, held its QP back for months. Found by tests/dst (LifeWorlds, worlds that
// begin late).
#include <gtest/gtest.h>

#include "nic/flow_control/pacer.h"

namespace nerve::nic {

constexpr Duration kHalf = std::chrono::days{55};  // a Duration holds no more than 106 days
constexpr std::uint64_t kFrame = 1'000;

TEST(PacerTookThePastForTheFuture, BeforeTheFirstFrame) {
  Pacer pacer;
  const Time now = Time{} + kHalf + kHalf;
  EXPECT_TRUE(pacer.may_send(now));
  pacer.on_send(kFrame, Rate::gigabits(1), now);
  EXPECT_FALSE(pacer.may_send(now));
  EXPECT_EQ(pacer.next_send(), now + Rate::gigabits(1).time_to_send(kFrame));
}

TEST(PacerTookThePastForTheFuture, AfterALongPause) {
  for (const std::uint32_t burst : {0U, Pacer::kTrainBurst}) {
    Pacer pacer{burst};
    Time now{};
    pacer.reset(now);
    pacer.on_send(kFrame, Rate::gigabits(1), now);
    now += kHalf;
    now += kHalf;
    ASSERT_TRUE(pacer.may_send(now));
    pacer.on_send(kFrame, Rate::gigabits(1), now);
    EXPECT_LE(pacer.next_send(), now + Rate::gigabits(1).time_to_send(kFrame));
    EXPECT_GE(pacer.next_send(), now - Rate::gigabits(1).time_to_send(burst));
  }
}

}  // namespace nerve::nic
