// The algebra of the CRC register against plain CRCs.
#include "wire/crc32_shift.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"
#include "wire/crc32.h"

namespace nerve::wire {
namespace {

std::vector<std::byte> random_bytes(Prng& prng, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
  return bytes;
}

TEST(Crc32Shift, PassesOverZeros) {
  const std::vector<std::byte> zeros(3000);
  Prng prng{1};
  for (std::size_t count = 0; count <= zeros.size(); ++count) {
    const auto begin = static_cast<std::uint32_t>(prng.next());
    const std::uint32_t end = crc32(begin, Bytes{zeros}.first(count));
    ASSERT_EQ(crc32_shift(begin, count), end) << count;
    ASSERT_EQ(crc32_unshift(end, count), begin) << count;
  }
}

TEST(Crc32Shift, ReachesAsFarAsAMessageMay) {
  // 2^31 bytes and beyond the order of x, composed of smaller shifts that the test above has
  // proved.
  for (const std::uint64_t far : {std::uint64_t{1} << 31U, std::uint64_t{1} << 40U}) {
    std::uint32_t state = 0x1234'5678U;
    for (int i = 0; i < 4; ++i) state = crc32_shift(state, far / 4);
    EXPECT_EQ(crc32_shift(0x1234'5678U, far), state);
    EXPECT_EQ(crc32_unshift(state, far), 0x1234'5678U);
  }
}

TEST(Crc32Shift, JoinsTwoRuns) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    const auto data = random_bytes(prng, prng.below(5'000));
    const std::size_t cut = prng.below(data.size() + 1);
    const auto first = Bytes{data}.first(cut);
    const auto second = Bytes{data}.subspan(cut);
    EXPECT_EQ(crc32_combine(crc32(~0U, first), crc32(0, second), second.size()), crc32(~0U, data));
  });
}

TEST(Crc32Field16, FollowsAChangedFieldAndFindsAHiddenOne) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    auto data = random_bytes(prng, 2 + prng.below(2'000));
    const std::size_t at = prng.below(data.size() - 1);
    const Crc32Field16 field{data.size() - at - 2};
    const std::uint32_t before = crc32(~0U, data);

    const auto changed = static_cast<std::uint16_t>(prng.next());
    store_be<2>(data, at, load_be<2>(data, at) ^ changed);
    const std::uint32_t after = crc32(~0U, data);

    EXPECT_EQ(before ^ field(changed), after);
    EXPECT_EQ(field.solve(before ^ after), changed);
  });
}

TEST(Crc32Field16, SaysWhenTheDifferenceLiesElsewhere) {
  Prng prng{7};
  auto data = random_bytes(prng, 100);
  const Crc32Field16 field{data.size() - 6};  // bytes 4 and 5
  const std::uint32_t before = crc32(~0U, data);
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    const auto flip = static_cast<std::byte>(1U << bit % 8);
    data[bit / 8] ^= flip;
    const auto answer = field.solve(before ^ crc32(~0U, data));
    data[bit / 8] ^= flip;
    EXPECT_EQ(answer.has_value(), bit / 8 == 4 || bit / 8 == 5) << "bit " << bit;
  }
}

}  // namespace
}  // namespace nerve::wire
