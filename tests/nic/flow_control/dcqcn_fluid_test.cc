// Goal: DCQCN as a whole behaves as in the paper. Method: a fluid bottleneck: a queue fed at the
// flows' rates and marked like RED, with one CNP per flow and 50 us by seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "base/prng.h"
#include "nic/flow_control/cnp_limiter.h"
#include "nic/flow_control/dcqcn.h"
#include "tests/seeds.h"

namespace nerve::nic {
namespace {

using std::chrono::microseconds;

constexpr std::uint64_t kBottleneck = 40'000'000'000;
constexpr std::uint64_t kStepsPerSecond = 200'000;  // a step is 5 us
constexpr std::uint64_t kFrame = 1024;

// Marking probability in parts per million: none to 5 KB, 1 % at 200 KB, all beyond.
std::uint64_t marked_ppm(std::uint64_t queue) {
  if (queue <= 5'000) return 0;
  if (queue > 200'000) return 1'000'000;
  return (queue - 5'000) * 10'000 / 195'000;
}

struct Shares {
  std::array<std::uint64_t, 2> bytes{};
  std::uint64_t hash{14695981039346656037U};
};

// Two flows for two seconds, the second starting far behind; bytes of the last second.
Shares share(std::uint64_t seed) {
  Prng prng{seed};
  std::array<Dcqcn, 2> flows{Dcqcn{{}, Rate::gigabits(40)}, Dcqcn{{}, Rate::gigabits(40)}};
  std::array<CnpLimiter, 2> limiters{};
  for (int i = 0; i < 4; ++i) flows[1].on_cnp(Time{microseconds{-500 + 50 * i}});

  Shares result;
  std::uint64_t queue = 0;
  for (std::uint64_t step = 0; step < 2 * kStepsPerSecond; ++step) {
    const Time now{microseconds{5 * static_cast<std::int64_t>(step)}};
    std::array<std::uint64_t, 2> sent{};
    for (std::size_t i = 0; i < 2; ++i) {
      flows[i].catch_up(now);
      sent[i] = flows[i].rate().bits_per_second() / 8 / kStepsPerSecond;
      flows[i].on_send(sent[i], now);
      queue += sent[i];
    }
    for (std::size_t i = 0; i < 2; ++i) {
      bool marked = false;
      for (std::uint64_t frame = 0; frame < sent[i] / kFrame + 1; ++frame)
        marked |= prng.below(1'000'000) < marked_ppm(queue);
      if (marked && limiters[i].on_mark(microseconds{50}, now)) flows[i].on_cnp(now);
      if (step >= kStepsPerSecond) result.bytes[i] += sent[i];
      result.hash = (result.hash ^ flows[i].rate().bits_per_second()) * 1099511628211U;
    }
    const std::uint64_t drained = kBottleneck / 8 / kStepsPerSecond;
    queue -= std::min(queue, drained);
  }
  return result;
}

}  // namespace

TEST(DcqcnFluid, SharesABottleneckFairlyAndFillsIt) {
  test::for_each_seed(10, [](std::uint64_t seed) {
    const Shares shares = share(seed);
    const std::uint64_t total = shares.bytes[0] + shares.bytes[1];
    EXPECT_GT(total, kBottleneck / 8 * 90 / 100);
    for (const std::uint64_t bytes : shares.bytes) EXPECT_GT(bytes, total * 45 / 100);
  });
}

// The number was computed once; every machine, compiler and optimisation level must reproduce it.
TEST(DcqcnFluid, IsBitForBitTheSameEverywhere) { EXPECT_EQ(share(1).hash, 12780663404776744992U); }

TEST(CnpLimiter, AnswersTheFirstMarkAtOnceThenOncePerInterval) {
  CnpLimiter limiter;
  const Duration interval = microseconds{50};
  const Time start{Duration{-10}};  // the wrap of time lies inside the first interval
  EXPECT_TRUE(limiter.on_mark(interval, start));
  EXPECT_FALSE(limiter.on_mark(interval, start + microseconds{1}));
  EXPECT_FALSE(limiter.on_mark(interval, start + interval - Duration{1}));
  EXPECT_TRUE(limiter.on_mark(interval, start + interval));
  EXPECT_FALSE(limiter.on_mark(interval, start + interval + Duration{1}));
  limiter.reset();
  EXPECT_TRUE(limiter.on_mark(interval, start + interval + Duration{2}));
}

TEST(CnpLimiter, IsSilentWithoutAnInterval) {
  CnpLimiter limiter;
  EXPECT_FALSE(limiter.on_mark(Duration{}, Time{}));
}

}  // namespace nerve::nic
