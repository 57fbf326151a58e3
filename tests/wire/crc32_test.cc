// Every implementation against the definition of the CRC, bit by bit, and therefore against each
// other.
#include "wire/crc32.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/prng.h"
#include "tests/seeds.h"
#include "wire/crc32_path.h"

namespace nerve::wire {
namespace {

constexpr std::size_t kLongest = 1100;
constexpr std::size_t kAlignments = 16;
constexpr std::byte kUntouched{0xee};

std::uint32_t bitwise(std::uint32_t state, std::byte byte) {
  state ^= static_cast<std::uint32_t>(byte);
  for (int bit = 0; bit < 8; ++bit) state = (state >> 1U) ^ ((state & 1U) != 0 ? 0xedb88320U : 0);
  return state;
}

std::uint32_t bitwise(std::uint32_t state, Bytes data) {
  for (const std::byte byte : data) state = bitwise(state, byte);
  return state;
}

std::vector<std::byte> random_bytes(Prng& prng, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(prng.next());
  return bytes;
}

class EveryPath : public testing::TestWithParam<const Crc32Path*> {};

TEST_P(EveryPath, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  Prng prng{1};
  const auto data = random_bytes(prng, kLongest + kAlignments);
  for (std::size_t at = 0; at < kAlignments; ++at) {
    const auto begin = static_cast<std::uint32_t>(prng.next());
    std::uint32_t expected = begin;
    for (std::size_t count = 0; count <= kLongest; ++count) {
      ASSERT_EQ(GetParam()->sum(begin, data.data() + at, count), expected) << at << ' ' << count;
      expected = bitwise(expected, data[at + count]);
    }
  }
}

TEST_P(EveryPath, CopiesExactlyWhatItSums) {
  Prng prng{2};
  const auto data = random_bytes(prng, kLongest + kAlignments);
  std::vector<std::byte> to(kLongest + 2 * kAlignments + 1);
  for (std::size_t at = 0; at < kAlignments; ++at) {
    for (std::size_t count = 0; count <= kLongest; ++count) {
      const std::size_t to_at = 1 + prng.below(kAlignments);
      std::fill(to.begin(), to.end(), kUntouched);
      const std::uint32_t got = GetParam()->copy(~0U, to.data() + to_at, data.data() + at, count);
      ASSERT_EQ(got, GetParam()->sum(~0U, data.data() + at, count)) << at << ' ' << count;
      ASSERT_TRUE(std::equal(data.begin() + static_cast<std::ptrdiff_t>(at),
                             data.begin() + static_cast<std::ptrdiff_t>(at + count),
                             to.begin() + static_cast<std::ptrdiff_t>(to_at)));
      ASSERT_EQ(to[to_at - 1], kUntouched);
      ASSERT_EQ(to[to_at + count], kUntouched);
    }
  }
}

TEST_P(EveryPath, IsIndependentOfTheSplitOfTheMessage) {
  test::for_each_seed(300, [](std::uint64_t seed) {
    Prng prng{seed};
    const auto data = random_bytes(prng, prng.below(20'000));
    std::vector<std::byte> to(data.size());
    const auto begin = static_cast<std::uint32_t>(prng.next());
    const std::uint64_t piece_limit = 1 + prng.below(prng.chance(500) ? 40 : 5'000);
    std::uint32_t state = begin;
    for (std::size_t done = 0; done < data.size();) {
      const std::size_t piece = std::min(data.size() - done, prng.below(piece_limit + 1));
      state = prng.chance(500)
                  ? GetParam()->sum(state, data.data() + done, piece)
                  : GetParam()->copy(state, to.data() + done, data.data() + done, piece);
      done += piece;
    }
    EXPECT_EQ(state, bitwise(begin, data));
  });
}

TEST_P(EveryPath, KnowsTheCheckValue) {
  constexpr std::string_view kDigits = "123456789";
  const auto bytes = std::as_bytes(std::span{kDigits});
  EXPECT_EQ(~GetParam()->sum(~0U, bytes.data(), bytes.size()), 0xcbf4'3926U);
}

std::vector<const Crc32Path*> paths_here() {
  std::vector<const Crc32Path*> paths;
  for (const Crc32Path* path : crc32_paths()) {
    if (path != nullptr) paths.push_back(path);
  }
  return paths;
}

INSTANTIATE_TEST_SUITE_P(Crc32, EveryPath, testing::ValuesIn(paths_here()),
                         [](const auto& of) { return std::string{of.param->name}; });

TEST(Crc32, UsesTheSelectedPath) {
  const Crc32Path& fastest = crc32_selected();
  EXPECT_EQ(&fastest, crc32_paths()[0]);
  static constexpr Crc32Path kMarked{
      "marked", [](std::uint32_t, const std::byte*, std::size_t) { return 1U; },
      [](std::uint32_t, std::byte*, const std::byte*, std::size_t) { return 2U; }};
  crc32_select(kMarked);
  std::array<std::byte, 1> byte{};
  EXPECT_EQ(crc32(0, byte), 1U);
  EXPECT_EQ(crc32_copy(0, byte, byte), 2U);
  crc32_select(fastest);
}

// Under the thread sanitizer: the selected implementation is the only shared state.
TEST(Crc32, PathMayBeSelectedConcurrently) {
  Prng prng{4};
  const auto data = random_bytes(prng, 500);
  const std::uint32_t expected = bitwise(~0U, data);
  const Crc32Path& fastest = *crc32_paths()[0];
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        crc32_select(round % 2 == 0 ? kCrc32Portable : fastest);
        EXPECT_EQ(crc32(~0U, data), expected);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  crc32_select(fastest);
}

TEST(Crc32, AcceptsTheEmptySpan) {
  EXPECT_EQ(crc32(0x1234'5678U, {}), 0x1234'5678U);
  EXPECT_EQ(crc32_copy(0x1234'5678U, {}, {}), 0x1234'5678U);
}

}  // namespace
}  // namespace nerve::wire
