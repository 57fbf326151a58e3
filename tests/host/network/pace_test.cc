// Goal: unreliable packets leave at the intended rate, in bursts that fit into a small socket.
#include "host/network/pace.h"

#include <gtest/gtest.h>

namespace nerve::host {
namespace {

constexpr std::uint64_t kFrame = 4096;

TEST(Pace, AllowsABurstAndThenWaits) {
  Pace pace;
  const Time start{std::chrono::hours{1}};
  std::uint64_t sent = 0;
  while (const std::uint32_t granted = pace.grant(16, start)) {
    ASSERT_LE(granted, 16U);
    pace.sent(granted, granted * kFrame, start);
    sent += granted * kFrame;
  }
  EXPECT_NEAR(static_cast<double>(sent), 1 << 17, 2 * kFrame);
  ASSERT_TRUE(pace.next_room());
  EXPECT_FALSE(pace.room_again(start));
  EXPECT_GT(*pace.next_room(), start);
  EXPECT_TRUE(pace.room_again(*pace.next_room()));
  EXPECT_FALSE(pace.room_again(*pace.next_room() + std::chrono::seconds{1})) << "reported already";
}

TEST(Pace, KeepsTheRate) {
  Pace pace;
  const Time start{std::chrono::hours{1}};
  Time now = start;
  std::uint64_t sent = 0;
  while (now - start < std::chrono::milliseconds{10}) {
    while (const std::uint32_t granted = pace.grant(64, now)) {
      pace.sent(granted, granted * kFrame, now);
      sent += granted * kFrame;
    }
    now = *pace.next_room();
    ASSERT_TRUE(pace.room_again(now));
  }
  EXPECT_NEAR(static_cast<double>(sent), 1.5e9 / 100, 6e5);
}

}  // namespace
}  // namespace nerve::host
