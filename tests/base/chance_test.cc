// Random numbers and keys: identical on every machine, and as defined.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <limits>

#include "base/prng.h"
#include "base/siphash.h"
#include "tests/seeds.h"

namespace nerve {
namespace {

// Published outputs of splitmix64. A change here would change every seeded run.
TEST(Prng, IsSplitmix64) {
  Prng prng{1234567};
  for (const std::uint64_t expected :
       {6457827717110365317U, 3203168211198807973U, 9817491932198370423U, 4593380528125082431U,
        16408922859458223821U}) {
    EXPECT_EQ(prng.next(), expected);
  }
}

TEST(Prng, RepeatsItselfFromTheSameSeed) {
  Prng one{42}, two{42}, other{43};
  int same_as_other = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t value = one.next();
    ASSERT_EQ(value, two.next());
    if (value == other.next()) ++same_as_other;
  }
  EXPECT_EQ(same_as_other, 0);
}

TEST(Prng, StaysWithinItsBounds) {
  test::for_each_seed(500, [](std::uint64_t seed) {
    Prng prng{seed};
    const std::uint64_t low = prng.next() >> prng.below(64);
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - low;
    const std::uint64_t high = low + (room == 0 ? 0 : prng.next() % room);
    const std::uint64_t value = prng.between(low, high);
    EXPECT_LE(low, value);
    EXPECT_LE(value, high);
    EXPECT_EQ(prng.between(low, low), low);
    EXPECT_EQ(prng.below(1), 0U);
  });
}

TEST(Prng, DrawsFromTheWholeRangeOfNumbers) {
  Prng prng{1};
  Prng same{1};
  EXPECT_EQ(prng.between(0, std::numeric_limits<std::uint64_t>::max()), same.next());
}

TEST(Prng, DrawsPerMilleAsStated) {
  Prng prng{9};
  std::array<int, 4> hits{};
  for (int i = 0; i < 100'000; ++i) {
    hits[0] += prng.chance(0) ? 1 : 0;
    hits[1] += prng.chance(1) ? 1 : 0;
    hits[2] += prng.chance(250) ? 1 : 0;
    hits[3] += prng.chance(1000) ? 1 : 0;
  }
  EXPECT_EQ(hits[0], 0);
  EXPECT_NEAR(hits[1], 100, 50);
  EXPECT_NEAR(hits[2], 25'000, 700);
  EXPECT_EQ(hits[3], 100'000);
}

// The reference vector for eight bytes 00..07 under the key 00..0f.
constexpr SipKey kReferenceKey{0x0706'0504'0302'0100, 0x0f0e'0d0c'0b0a'0908};
static_assert(siphash(kReferenceKey, 0x0706'0504'0302'0100) == 0x93f5'f579'9a93'2462);

TEST(Siphash, ChangesHalfItsBitsForAnyBit) {
  Prng prng{3};
  for (int i = 0; i < 200; ++i) {
    const SipKey key{prng.next(), prng.next()};
    const std::uint64_t word = prng.next();
    int changed = 0;
    for (unsigned bit = 0; bit < 64; ++bit) {
      changed += std::popcount(siphash(key, word) ^ siphash(key, word ^ std::uint64_t{1} << bit));
    }
    EXPECT_NEAR(changed, 64 * 32, 64 * 4);
    EXPECT_NE(siphash(key, word), siphash({key[0] ^ 1U, key[1]}, word));
    EXPECT_NE(siphash(key, word), siphash({key[0], key[1] ^ 1U}, word));
  }
}

}  // namespace
}  // namespace nerve
