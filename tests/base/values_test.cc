// The small value types: bytes, results, masks, IDs, arrays.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/fixed_array.h"
#include "base/ids.h"
#include "base/mask.h"
#include "base/prng.h"
#include "base/result.h"
#include "tests/seeds.h"

namespace nerve {
namespace {
enum class Colour : std::uint8_t { kNone = 0, kRed = 1, kGreen = 2, kBlue = 4, kLast = 128 };
}  // namespace
template <>
inline constexpr bool kIsMask<Colour> = true;

namespace {

TEST(Bytes, AreBigEndian) {
  std::array<std::byte, 10> bytes{};
  store_be<4>(bytes, 3, 0x0102'0304);
  EXPECT_EQ(bytes[3], std::byte{1});
  EXPECT_EQ(bytes[6], std::byte{4});
  EXPECT_EQ(bytes[2], std::byte{0});
  EXPECT_EQ(bytes[7], std::byte{0});
  EXPECT_EQ(load_be<4>(bytes, 3), 0x0102'0304U);
  EXPECT_EQ(load_be<2>(bytes, 5), 0x0304U);
}

template <std::size_t N>
void round_trip(Prng& prng) {
  std::array<std::byte, 16> bytes;
  bytes.fill(std::byte{0xee});
  const std::uint64_t value = prng.next() >> (64 - 8 * N);
  const std::size_t at = prng.below(bytes.size() - N + 1);
  store_be<N>(bytes, at, value);
  EXPECT_EQ(load_be<N>(bytes, at), value);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i < at || i >= at + N) {
      EXPECT_EQ(bytes[i], std::byte{0xee}) << N << " at " << at;
    }
  }
}

TEST(Bytes, RoundTripAtEveryWidth) {
  test::for_each_seed(300, [](std::uint64_t seed) {
    Prng prng{seed};
    [&]<std::size_t... kWidth>(std::index_sequence<kWidth...>) {
      (round_trip<kWidth + 1>(prng), ...);
    }
    (std::make_index_sequence<8>{});
  });
}

TEST(Bytes, KeepOnlyTheBitsThatFit) {
  std::array<std::byte, 4> bytes{};
  store_be<3>(bytes, 0, 0xffff'ff01'0203);
  EXPECT_EQ(load_be<4>(bytes, 0), 0x0102'0300U);
}

Result<int, std::string> half(int n) {
  if (n % 2 != 0) return Unexpected{std::string{"odd"}};
  return n / 2;
}

TEST(Result, HoldsOneOfTwo) {
  ASSERT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  ASSERT_FALSE(half(3).has_value());
  EXPECT_EQ(half(3).error(), "odd");
}

TEST(Result, TellsValueFromErrorOfOneType) {
  const Result<int, int> value{7};
  const Result<int, int> error{Unexpected{7}};
  EXPECT_TRUE(value);
  EXPECT_FALSE(error);
  EXPECT_EQ(*value, error.error());
}

TEST(ResultDeathTest, ChecksThatItIsAskedForWhatItHas) {
  EXPECT_DEATH(static_cast<void>(*half(3)), "CHECK failed");
  EXPECT_DEATH(static_cast<void>(half(4).error()), "CHECK failed");
}

TEST(Mask, IsASet) {
  using enum Colour;
  constexpr Colour kYellow = kRed | kGreen;
  EXPECT_TRUE(contains(kYellow, kRed));
  EXPECT_FALSE(contains(kYellow, kRed | kBlue));
  EXPECT_TRUE(intersects(kYellow, kRed | kBlue));
  EXPECT_FALSE(intersects(kYellow, kBlue));
  EXPECT_TRUE(contains(kNone, kNone));
  EXPECT_FALSE(intersects(kYellow, kNone));
  EXPECT_EQ(without(kYellow | kLast, kGreen | kBlue), kRed | kLast);
  Colour grown = kNone;
  grown |= kLast;
  EXPECT_EQ(grown & (kLast | kRed), kLast);
}

TEST(Id, HoldsItsWholeRangeAndNoMore) {
  EXPECT_EQ(Qpn{0xff'ffff}.value(), 0xff'ffffU);
  EXPECT_EQ(RKey{~0U}.value(), ~0U);
  EXPECT_EQ(PKey{0xffff}.value(), 0xffff);
  EXPECT_DEATH(static_cast<void>(Qpn{0x100'0000}), "CHECK failed");
}

TEST(Psn, LivesOnARing) {
  test::for_each_seed(1'000, [](std::uint64_t seed) {
    Prng prng{seed};
    const Psn from{static_cast<std::uint32_t>(prng.next())};
    const auto steps = static_cast<std::uint32_t>(prng.below(1U << 23U));
    EXPECT_EQ((from + steps).distance_from(from), static_cast<std::int32_t>(steps));
    EXPECT_EQ(from.distance_from(from + steps), -static_cast<std::int32_t>(steps));
    EXPECT_EQ(from + (1U << 24U), from);
  });
  EXPECT_EQ((Psn{5} + (1U << 23U)).distance_from(Psn{5}), -(1 << 23));  // half way is "behind"
}

TEST(FixedArray, IsZeroedAndMayBeEmpty) {
  const FixedArray<int> none;
  EXPECT_EQ(none.size(), 0U);
  EXPECT_EQ(none.data(), nullptr);
  EXPECT_EQ(FixedArray<int>{0}.data(), nullptr);
  FixedArray<int> some{3};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(some[i], 0);
  some[2] = 5;
  EXPECT_EQ(std::as_const(some)[2], 5);
  EXPECT_DEATH(some[3] = 1, "CHECK failed");
}

TEST(FixedArray, LeavesNothingBehindWhenItMoves) {
  FixedArray<int> from{3};
  from[1] = 7;
  FixedArray<int> to{std::move(from)};
  EXPECT_EQ(to[1], 7);
  EXPECT_EQ(from.size(), 0U);  // NOLINT(bugprone-use-after-move): tested here
  FixedArray<int> third{1};
  third = std::move(to);
  EXPECT_EQ(third.size(), 3U);
  EXPECT_EQ(to.size(), 0U);  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace nerve
