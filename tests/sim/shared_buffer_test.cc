// Goal: what is admitted is released, a lossless class is paused before it would be dropped, and a
// full switch gives each port less. Method: by hand, and random traffic compared with plain
// counters.
#include "sim/fabric/shared_buffer.h"

#include <gtest/gtest.h>

#include <deque>

#include "base/prng.h"

namespace nerve::sim {
namespace {

constexpr unsigned kClass = 1;
constexpr BufferConfig kSmall{.bytes = 100'000,
                              .reserve = 1000,
                              .resume_below = 500,
                              .pause_at = {1, 2},
                              .drop_at = {1, 1},
                              .lossless = 1U << kClass};

}  // namespace

TEST(SharedBuffer, PausesAtItsShareAndResumesBelowIt) {
  // 100 000 minus two reserves and two headrooms leaves 78 000 to share.
  SharedBuffer buffer{kSmall, {10'000, 10'000}};
  std::uint32_t in = 0;
  while (!buffer.begin_pause(0, kClass)) {
    ASSERT_TRUE(buffer.admit(0, kClass, 1000, 0));
    in += 1000;
  }
  // The reserve, plus a share equal to half of what is then left: a third of the total.
  EXPECT_NEAR(in, 1000 + 26'000, 1000);
  EXPECT_FALSE(buffer.begin_pause(0, kClass)) << "said twice";
  EXPECT_FALSE(buffer.begin_pause(1, kClass)) << "the other port has sent nothing";
  EXPECT_FALSE(buffer.end_pause(0, kClass));
  buffer.release(0, kClass, 1000);
  buffer.release(0, kClass, 1000);
  EXPECT_TRUE(buffer.end_pause(0, kClass));
  EXPECT_FALSE(buffer.end_pause(0, kClass)) << "said twice";
}

TEST(SharedBuffer, HeadroomHoldsPacketsAfterThePause) {
  SharedBuffer buffer{kSmall, {10'000, 10'000}};
  while (!buffer.begin_pause(0, kClass)) ASSERT_TRUE(buffer.admit(0, kClass, 1000, 0));
  std::uint32_t after = 0;
  while (buffer.admit(0, kClass, 1000, 0)) after += 1000;
  EXPECT_GE(after, 10'000U);
  EXPECT_LE(after, 11'000U);
}

TEST(SharedBuffer, DropsALossyClassAtTheShareOfItsQueue) {
  SharedBuffer buffer{kSmall, {10'000, 10'000}};
  EXPECT_TRUE(buffer.admit(0, 0, 1000, 0));
  EXPECT_FALSE(buffer.admit(0, 0, 1000, 77'000));
  EXPECT_FALSE(buffer.begin_pause(0, 0));
}

TEST(SharedBuffer, ReturnsToEmpty) {
  Prng prng{11};
  SharedBuffer buffer{kSmall, {10'000, 5'000, 0}};
  struct In {
    std::uint32_t port;
    unsigned traffic_class;
    std::uint32_t bytes;
  };
  std::deque<In> inside;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 100'000; ++i) {
    if (prng.chance(520)) {
      const In one{static_cast<std::uint32_t>(prng.below(3)), prng.chance(700) ? kClass : 0,
                   static_cast<std::uint32_t>(prng.between(64, 4200))};
      if (buffer.admit(one.port, one.traffic_class, one.bytes, 0)) {
        inside.push_back(one);
        bytes += one.bytes;
      }
    } else if (!inside.empty()) {
      buffer.release(inside.front().port, inside.front().traffic_class, inside.front().bytes);
      bytes -= inside.front().bytes;
      inside.pop_front();
    }
    ASSERT_EQ(buffer.used(), bytes);
    ASSERT_LE(bytes, kSmall.bytes);
  }
  for (const In& one : inside) buffer.release(one.port, one.traffic_class, one.bytes);
  EXPECT_EQ(buffer.used(), 0U);
  // The initial state.
  std::uint32_t in = 0;
  while (!buffer.begin_pause(0, kClass)) {
    ASSERT_TRUE(buffer.admit(0, kClass, 1000, 0));
    in += 1000;
  }
  EXPECT_GT(in, 20'000U);
}

}  // namespace nerve::sim
