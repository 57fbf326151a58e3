// Learned congestion control: the law of the rate by hand, the guard, and two flows on one link.
#include "nic/flow_control/learned.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/prng.h"
#include "tests/nic/flow_control/toy_link.h"

namespace nerve::nic::learned_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Rate kLine = Rate::gigabits(10);
constexpr std::uint32_t kPacket = 1000;
constexpr std::int32_t kOne = Policy::kOne;

// Always the same action.
Policy constant(std::int32_t action) {
  Policy policy = shipped_policy();
  policy.last.fill(0);
  policy.last[Policy::kHidden] = static_cast<std::int16_t>(action);
  policy.window = kOne;
  return policy;
}

struct Flow {
  explicit Flow(const Policy& given, LearnedParameters p = {}) : policy{given} {
    p.policy = &policy;
    if (p.base_round_trip == Duration{}) p.base_round_trip = microseconds{10};
    cc.emplace(p, SwiftParameters{}, kLine, kPacket, fallbacks);
  }
  // A round with one packet.
  void round(Duration round_trip, bool marked = false) {
    now += round_trip;
    cc->on_ack({.now = now, .acked_bytes = kPacket, .round_trip = round_trip, .ecn_echo = marked});
  }
  [[nodiscard]] std::uint64_t rate() const { return cc->rate().bits_per_second(); }

  Policy policy;
  std::uint64_t fallbacks{};
  Time now{};
  std::optional<Learned> cc;
};

}  // namespace

// 10 Gb/s for 10 us is 12 500 bytes, and a packet.
TEST(Learned, StartsAtLineRateWithABandwidthDelayProduct) {
  const Flow flow{constant(0)};
  EXPECT_EQ(flow.cc->rate(), kLine);
  EXPECT_EQ(flow.cc->window_bytes(), 13'500U);
}

TEST(Learned, DividesByUpToSixFifthsAndMultipliesAsMuch) {
  Flow down{constant(-kOne)};
  down.round(microseconds{10});
  EXPECT_EQ(down.rate(), 10'000'000'000U * 5 / 6);
  Flow half{constant(-kOne / 2)};
  half.round(microseconds{10});
  EXPECT_EQ(half.rate(), 10'000'000'000U * 10 / 11);
  Flow up{constant(kOne)};
  up.cc->on_nak(Time{microseconds{1}});
  EXPECT_EQ(up.rate(), 5'000'000'000U);
  up.round(microseconds{10});
  EXPECT_EQ(up.rate(), 6'000'000'000U);
  for (int i = 0; i < 10; ++i) up.round(microseconds{10});
  EXPECT_EQ(up.cc->rate(), kLine) << "not above the line";
}

TEST(Learned, DecidesOncePerRound) {
  Flow flow{constant(-kOne)};
  AckSample sample{.now = Time{microseconds{10}},
                   .acked_bytes = kPacket,
                   .outstanding_bytes = 10 * kPacket,
                   .round_trip = microseconds{10}};
  flow.cc->on_ack(sample);
  const std::uint64_t after_one = flow.rate();
  for (int i = 0; i < 9; ++i) flow.cc->on_ack(sample);
  EXPECT_EQ(flow.rate(), after_one);
  flow.cc->on_ack(sample);
  EXPECT_EQ(flow.rate(), after_one * 5 / 6);
}

TEST(Learned, ALossHalvesTheRateOncePerRound) {
  Flow flow{constant(0)};
  flow.cc->on_nak(Time{microseconds{1}});
  flow.cc->on_timeout(Time{microseconds{2}});
  EXPECT_EQ(flow.rate(), 5'000'000'000U);
  flow.cc->on_nak(Time{microseconds{11}});
  EXPECT_EQ(flow.rate(), 2'500'000'000U);
}

TEST(Learned, GuardHandsOverWhenAnInputIsOutOfRange) {
  Policy policy = constant(0);
  policy.high[Policy::kInflation] = 3 * kOne;  // eight times the least round trip
  Flow flow{policy};
  flow.round(microseconds{70});
  EXPECT_FALSE(flow.cc->guarded());
  flow.round(microseconds{90});
  EXPECT_TRUE(flow.cc->guarded());
  EXPECT_EQ(flow.fallbacks, 1U);
  flow.round(microseconds{90});
  EXPECT_EQ(flow.fallbacks, 1U) << "counted once";
  // Swift continues where the policy was and slows down: the delay exceeds its target.
  EXPECT_LT(flow.rate(), 10'000'000'000U);
  EXPECT_GT(flow.rate(), 1'000'000'000U);
  for (int i = 0; i < 7; ++i) flow.round(microseconds{12});
  EXPECT_TRUE(flow.cc->guarded());
  flow.round(microseconds{12});
  EXPECT_FALSE(flow.cc->guarded());
  flow.round(microseconds{90});
  EXPECT_EQ(flow.fallbacks, 2U);
}

TEST(Learned, GuardHandsOverWhenThePolicyIsStuckAtTheLowestRate) {
  LearnedParameters p;
  p.minimum_rate = Rate::megabits(100);
  Flow flow{constant(-kOne), p};
  int rounds = 0;
  while (!flow.cc->guarded() && rounds < 1000) {
    flow.round(microseconds{10});
    EXPECT_GE(flow.rate(), 100'000'000U);
    ++rounds;
  }
  EXPECT_EQ(flow.fallbacks, 1U);
  EXPECT_NEAR(rounds, 26 + 32, 2) << "26 steps to a hundredth, then 32 rounds there";
  for (int i = 0; i < 8; ++i) flow.round(microseconds{10});
  EXPECT_FALSE(flow.cc->guarded());
  EXPECT_GT(flow.rate(), 100'000'000U);
}

TEST(Learned, ALongerPathIsNoticed) {
  Flow flow{constant(0)};
  flow.round(microseconds{10});
  EXPECT_EQ(flow.cc->least_round_trip(), microseconds{10});
  for (int i = 0; i < 12; ++i) {
    flow.now += seconds{1};
    flow.round(microseconds{30});
  }
  EXPECT_EQ(flow.cc->least_round_trip(), microseconds{30});
}

TEST(Learned, HostileSamplesKeepItWithinItsLimits) {
  Prng prng{7};
  for (int world = 0; world < 50; ++world) {
    Flow flow{shipped_policy()};
    for (int i = 0; i < 500; ++i) {
      flow.now += Duration{static_cast<std::int64_t>(prng.below(1'000'000'000))};
      const auto trip = static_cast<std::int64_t>(prng.next() >> prng.below(60));
      flow.cc->on_ack({.now = prng.chance(50) ? Time{} : flow.now,
                       .acked_bytes = prng.next() >> prng.below(64),
                       .outstanding_bytes = prng.next() >> prng.below(64),
                       .round_trip = Duration{prng.chance(500) ? trip : -trip},
                       .ecn_echo = prng.chance(300)});
      if (prng.chance(100)) flow.cc->on_nak(flow.now);
      if (prng.chance(100)) flow.cc->on_cnp(flow.now);
      ASSERT_LE(flow.cc->rate(), kLine);
      ASSERT_GE(flow.cc->rate(), Rate::megabits(10));
      ASSERT_GT(flow.cc->window_bytes(), 0U);
    }
  }
}

// The shipped policy on a fluid link: it is used, and shared.
TEST(Learned, TwoFlowsShareALink) {
  const Rate line = Rate::gigabits(100);
  std::uint64_t fallbacks = 0;
  LearnedParameters p;
  p.base_round_trip = microseconds{10};
  Learned a{p, {}, line, 4096, fallbacks};
  Learned b{p, {}, line, 4096, fallbacks};
  b.on_nak(Time{microseconds{1}});  // they begin at different rates
  test::ToyLink link{line, microseconds{10}};
  link.run({&a, &b}, milliseconds{20});
  EXPECT_GT(link.share(a) + link.share(b), 0.8);
  const auto [low, high] = std::minmax({link.share(a), link.share(b)});
  EXPECT_GT(low / high, 0.8);
  EXPECT_LT(link.round_trip(), 40e-6);
  EXPECT_EQ(fallbacks, 0U);
}

}  // namespace nerve::nic::learned_test
