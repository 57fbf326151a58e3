// Swift against windows computed by hand from the paper's algorithm 1.
#include "nic/flow_control/swift.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "tests/nic/flow_control/toy_link.h"

namespace nerve::nic::swift_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Rate kLine = Rate::gigabits(10);
constexpr std::uint32_t kPacket = 1000;

// A target of 20 us whatever the window.
SwiftParameters fixed_target() {
  SwiftParameters p;
  p.scaling_range = {};
  return p;
}
Time at(Duration since_start) { return Time{since_start}; }
AckSample ack(Time now, Duration round_trip, std::uint32_t packets) {
  return {.now = now, .acked_bytes = std::uint64_t{packets} * kPacket, .round_trip = round_trip};
}

}  // namespace

// 10 Gb/s for 20 us is 25 000 bytes.
TEST(Swift, StartsWithWhatTheLineHoldsInTheTarget) {
  const Swift cc{fixed_target(), kLine, kPacket};
  EXPECT_EQ(cc.window_bytes(), 25'000U);
  EXPECT_EQ(cc.rate(), kLine);
  EXPECT_EQ(cc.target(), microseconds{20});
}

TEST(Swift, GrowsByAPacketARoundTrip) {
  Swift cc{fixed_target(), kLine, kPacket};
  cc.on_ack(ack(at(microseconds{1}), microseconds{20}, 25));
  EXPECT_EQ(cc.window_bytes(), 26'000U);
  for (int i = 0; i < 26; ++i) cc.on_ack(ack(at(microseconds{2}), microseconds{10}, 1));
  EXPECT_NEAR(static_cast<double>(cc.window_bytes()), 27'000, 20);
}

// A delay of 40 us exceeds the target by 20: 0.8 * 20 / 40 = 0.4 are cut, once per round trip.
TEST(Swift, CutsByTheExcessOncePerRoundTrip) {
  Swift cc{fixed_target(), kLine, kPacket};
  cc.on_ack(ack(at(microseconds{100}), microseconds{40}, 1));
  EXPECT_EQ(cc.window_bytes(), 15'000U);
  cc.on_ack(ack(at(microseconds{139}), microseconds{40}, 1));
  EXPECT_EQ(cc.window_bytes(), 15'000U);
  cc.on_ack(ack(at(microseconds{140}), microseconds{40}, 1));
  EXPECT_EQ(cc.window_bytes(), 9'000U);
}

TEST(Swift, CutsByHalfAtMost) {
  Swift cc{fixed_target(), kLine, kPacket};
  cc.on_ack(ack(at(microseconds{1}), milliseconds{50}, 1));
  EXPECT_EQ(cc.window_bytes(), 12'500U);
}

TEST(Swift, CutsByHalfForALoss) {
  Swift by_nak{fixed_target(), kLine, kPacket}, by_timeout{fixed_target(), kLine, kPacket};
  by_nak.on_nak(at(microseconds{1}));
  by_timeout.on_timeout(at(microseconds{1}));
  EXPECT_EQ(by_nak.window_bytes(), 12'500U);
  EXPECT_EQ(by_timeout.window_bytes(), 12'500U);
  by_nak.on_nak(at(microseconds{2}));
  EXPECT_EQ(by_nak.window_bytes(), 12'500U) << "within a round trip of the first";
}

TEST(Swift, HeedsACutJustBeforeTimeWraps) {
  Swift cc{fixed_target(), kLine, kPacket};
  const Time last = at(Duration{-1});  // of the ring
  cc.on_ack(ack(last, microseconds{40}, 1));
  cc.on_ack(ack(last + microseconds{30}, microseconds{40}, 1));
  EXPECT_EQ(cc.window_bytes(), 15'000U);
  cc.on_ack(ack(last + microseconds{41}, microseconds{40}, 1));
  EXPECT_EQ(cc.window_bytes(), 9'000U);
}

// A tenth of a packet in 100 us: 800 bits in 100 us.
TEST(Swift, PacesAWindowBelowAPacket) {
  SwiftParameters p = fixed_target();
  p.beta = 1000;
  Swift cc{p, kLine, kPacket};
  for (int i = 1; i < 50; ++i) cc.on_ack(ack(at(milliseconds{i}), microseconds{100}, 1));
  EXPECT_EQ(cc.window_bytes(), 100U);
  EXPECT_EQ(cc.rate(), Rate::megabits(8));
  // Each packet that arrives in time adds a whole one.
  cc.on_ack(ack(at(milliseconds{60}), microseconds{10}, 1));
  EXPECT_EQ(cc.window_bytes(), 1'100U);
  EXPECT_EQ(cc.rate(), kLine);
}

TEST(Swift, StaysBelowItsLargestWindow) {
  SwiftParameters p = fixed_target();
  p.largest = 40'000;
  Swift cc{p, kLine, kPacket};
  for (int i = 0; i < 1000; ++i) cc.on_ack(ack(at(milliseconds{i}), microseconds{10}, 40));
  EXPECT_EQ(cc.window_bytes(), 40'000U);
}

// Between 0.1 and 100 packets the target falls from 120 us to 20 us with the inverse square root of
// the window: at 25 packets (0.2 - 0.1) / (3.162 - 0.1) of 100 us.
TEST(Swift, ScalesTheTargetWithTheWindow) {
  const Swift cc{SwiftParameters{}, kLine, kPacket};
  EXPECT_NEAR(static_cast<double>(cc.target().count()), 23.266e6, 0.01e6);
  const Swift wide{SwiftParameters{}, Rate::gigabits(400), kPacket};
  EXPECT_EQ(wide.target(), microseconds{20});
  const Swift narrow{SwiftParameters{}, Rate{}, kPacket};
  EXPECT_EQ(narrow.target(), microseconds{120});
}

TEST(Swift, TakesNothingFromAckWithoutAMeasurement) {
  Swift cc{fixed_target(), kLine, kPacket};
  cc.on_ack(ack(at(microseconds{1}), microseconds{40}, 1));
  const std::uint64_t before = cc.window_bytes();
  cc.on_ack({.now = at(milliseconds{1}), .acked_bytes = 1000});
  for (const Duration bad : {Duration{}, Duration{-1}, Duration::min()}) {
    cc.on_ack(ack(at(milliseconds{1}), bad, 1));
  }
  cc.on_cnp(at(milliseconds{1}));
  EXPECT_EQ(cc.window_bytes(), before) << "the last measurement was used up";
}

TEST(Swift, SurvivesAWildConfiguration) {
  const SwiftParameters wild[]{{.base_target = {},
                                .increase = 0,
                                .beta = 0,
                                .most_cut = 0,
                                .scaling_range = Duration{-1},
                                .smallest_scaled = 0,
                                .largest_scaled = 0,
                                .smallest = 0,
                                .largest = 0},
                               {.base_target = Duration::max(),
                                .increase = ~0U,
                                .beta = ~0U,
                                .most_cut = ~0U,
                                .scaling_range = Duration::max(),
                                .smallest_scaled = ~0U,
                                .largest_scaled = 1,
                                .smallest = ~0U,
                                .largest = 1}};
  Prng prng{5};
  for (const SwiftParameters& parameters : wild) {
    for (const Rate line : {Rate{}, Rate::bits_per_second(1), Rate::bits_per_second(~0ULL)}) {
      for (const std::uint32_t packet : {0U, 4096U}) {
        Swift cc{parameters, line, packet};
        for (int i = 0; i < 300; ++i) {
          const Duration trip{static_cast<std::int64_t>(prng.next() >> prng.below(64))};
          cc.on_ack({.now = Time{Duration{static_cast<std::int64_t>(prng.next())}},
                     .acked_bytes = prng.next() >> prng.below(64),
                     .round_trip = trip});
          if (prng.chance(100)) cc.on_timeout(Time{trip});
          ASSERT_LE(cc.rate(), line);
          ASSERT_GE(cc.window_bytes(), 1U);
        }
      }
    }
  }
}

TEST(Swift, SharesALinkFairly) {
  SwiftParameters p;
  p.base_target = microseconds{40};
  Swift a{p, kLine, kPacket}, b{p, kLine, kPacket};
  test::ToyLink link{kLine, microseconds{20}};
  b.on_nak(Time{});  // it starts with half
  link.run({&a, &b}, milliseconds{50});
  EXPECT_NEAR(link.share(a), link.share(b), 0.05);
  EXPECT_GT(link.share(a) + link.share(b), 0.9);
  EXPECT_LT(link.round_trip(), 60e-6);
}

}  // namespace nerve::nic::swift_test
