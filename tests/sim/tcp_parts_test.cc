// Goal: the parts of TCP are correct. Method: ranges compared with a set of bytes, cube roots with
// multiplication, windows step by step.
#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"
#include "sim/host/tcp_ranges.h"
#include "sim/host/tcp_window.h"

namespace nerve::sim::tcp_parts_test {
namespace {

constexpr std::uint32_t kSegment = 1000;
using std::chrono::microseconds;

Time at(std::int64_t us) { return Time{microseconds{us}}; }

}  // namespace

TEST(TcpRanges, AgreeWithASetOfBytes) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Prng prng{seed};
    TcpRanges ranges;
    std::vector<bool> bytes(400);
    for (int step = 0; step < 200; ++step) {
      const std::uint64_t begin = prng.below(390);
      if (prng.chance(850)) {
        const std::uint64_t end = begin + 1 + prng.below(std::min<std::uint64_t>(399 - begin, 12));
        ranges.add({begin, end});
        for (std::uint64_t i = begin; i < end; ++i) bytes[i] = true;
      } else {
        const std::uint64_t edge = prng.below(60);
        ranges.drop_below(edge);
        for (std::uint64_t i = 0; i < edge; ++i) bytes[i] = false;
      }
      const auto count = static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end(), true));
      ASSERT_EQ(ranges.bytes(), count) << "seed " << seed;
      const std::uint64_t from = prng.below(400);
      const std::uint64_t to = from + prng.below(401 - from);
      std::uint64_t missing = 0;
      for (std::uint64_t i = from; i < to; ++i) missing += bytes[i] ? 0U : 1U;
      ASSERT_EQ(ranges.missing(from, to), missing) << "seed " << seed;
      std::uint64_t hole = from;
      while (hole < to && bytes[hole]) ++hole;
      std::uint64_t end = hole;
      while (end < to && !bytes[end]) ++end;
      const TcpRange found = ranges.hole(from, to);
      ASSERT_EQ(found.end - found.begin, end - hole) << "seed " << seed;
      if (hole < end) {
        ASSERT_EQ(found.begin, hole) << "seed " << seed;
      }
    }
  }
}

TEST(TcpWindow, CubeRoots) {
  for (std::uint64_t n = 0; n < 2000; ++n) {
    EXPECT_EQ(cube_root(Wide{n} * n * n), n);
    if (n > 1) {
      EXPECT_EQ(cube_root(Wide{n} * n * n - 1), n - 1);
    }
  }
  constexpr std::uint64_t kLarge = (std::uint64_t{1} << 41U) + 12345;
  EXPECT_EQ(cube_root(Wide{kLarge} * kLarge * kLarge), kLarge);
}

TEST(TcpWindow, SlowStartDoublesEachRoundTrip) {
  TcpWindow window{TcpAlgorithm::kDctcp, kSegment, 10};
  EXPECT_EQ(window.bytes(), 10'000U);
  window.on_ack({at(10), 10'000, 0, 10'000, 20'000, microseconds{10}, true});
  EXPECT_EQ(window.bytes(), 20'000U);
  window.on_ack({at(20), 20'000, 0, 30'000, 50'000, microseconds{10}, false});
  EXPECT_EQ(window.bytes(), 20'000U) << "something else held it back";
}

TEST(TcpWindow, DctcpCutsByHalfOfAlpha) {
  TcpWindow window{TcpAlgorithm::kDctcp, kSegment, 100};
  std::uint64_t unacked = 0;
  const auto round = [&](std::uint64_t marked) {
    const std::uint64_t acked = window.bytes();
    unacked += acked;
    window.on_ack({at(0), acked, marked, unacked, unacked + window.bytes(), {}, true});
  };
  round(window.bytes());  // alpha begins at one: the window is halved
  EXPECT_EQ(window.bytes(), 50'000U);
  for (int i = 0; i < 200; ++i) round(0);
  EXPECT_LT(window.alpha(), TcpWindow::kOne / 1000);
  const std::uint64_t before = window.bytes();
  round(before);  // alpha is 1/16 now
  EXPECT_NEAR(static_cast<double>(window.bytes()), static_cast<double>(before) * 31 / 32,
              static_cast<double>(before) / 500);
}

TEST(TcpWindow, CubicRegainsItsWindowAfterK) {
  TcpWindow window{TcpAlgorithm::kCubic, kSegment, 1000};
  window.on_loss(at(0));
  EXPECT_EQ(window.bytes(), 700'000U);
  // K is the cube root of 300 / 0.4 seconds: 9.09. With an RTT of 100 ms Reno is slower.
  std::int64_t when = 0;
  const auto pass = [&](std::int64_t until) {
    for (; when < until; when += 100'000) {
      window.on_ack({at(when), window.bytes(), 0, 1, 2, microseconds{100'000}, true});
    }
  };
  pass(4'500'000);
  EXPECT_NEAR(static_cast<double>(window.bytes()), 1e6 - 0.4e3 * 4.5 * 4.5 * 4.5, 20e3);
  pass(9'100'000);
  EXPECT_NEAR(static_cast<double>(window.bytes()), 1e6, 10e3);
  pass(14'000'000);
  EXPECT_NEAR(static_cast<double>(window.bytes()), 1e6 + 0.4e3 * 4.9 * 4.9 * 4.9, 20e3);
}

}  // namespace nerve::sim::tcp_parts_test
