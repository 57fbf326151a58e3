#include "base/secret_order.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

namespace nerve {
namespace {

constexpr SipKey kKey{0x0123'4567'89ab'cdef, 42};

std::vector<std::uint32_t> all(const SecretOrder& order, std::uint32_t limit) {
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < limit; ++i) numbers.push_back(order[i]);
  return numbers;
}

TEST(SecretOrder, HasEachNumberOnce) {
  for (const std::uint32_t limit : {1U, 2U, 3U, 12U, 16U, 17U, 200U, 1000U, 16384U, 65536U}) {
    std::vector<bool> seen(limit);
    for (const std::uint32_t number : all({kKey, 1, limit}, limit)) {
      ASSERT_LT(number, limit);
      ASSERT_FALSE(seen[number]) << number << " twice below " << limit;
      seen[number] = true;
    }
  }
}

TEST(SecretOrder, IsTheSameForTheSameKeyOnly) {
  constexpr std::uint32_t kLimit = 16384;
  const auto order = all({kKey, 1, kLimit}, kLimit);
  EXPECT_EQ(order, all({kKey, 1, kLimit}, kLimit));
  for (const auto& other : {all({kKey, 2, kLimit}, kLimit), all({{1, 2}, 1, kLimit}, kLimit)}) {
    int same = 0;
    for (std::uint32_t i = 0; i < kLimit; ++i) same += order[i] == other[i] ? 1 : 0;
    EXPECT_LT(same, 12);  // one on average
  }
}

// Whoever sees some numbers gains nothing: neither the next number nor its distance follows.
TEST(SecretOrder, ShowsNoPattern) {
  constexpr std::uint32_t kLimit = 16384;
  const auto order = all({kKey, 1, kLimit}, kLimit);
  int near = 0;
  int repeated = 0;
  for (std::uint32_t i = 2; i < kLimit; ++i) {
    const int step = static_cast<int>(order[i]) - static_cast<int>(order[i - 1]);
    const int before = static_cast<int>(order[i - 1]) - static_cast<int>(order[i - 2]);
    near += std::abs(step) <= 16 ? 1 : 0;
    repeated += step == before ? 1 : 0;
  }
  EXPECT_NEAR(near, 32, 30);  // 2 * 16 of 16384, 16384 times
  EXPECT_LT(repeated, 12);
}

}  // namespace
}  // namespace nerve
