// Contents that both sides can compute from the seed of the pair and the number of the round, so
// that data that arrives late, twice or in the wrong place is detected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace bad_days {

[[nodiscard]] inline std::uint64_t mix(std::uint64_t value) {
  value += 0x9e37'79b9'7f4a'7c15U;
  value = (value ^ value >> 30U) * 0xbf58'476d'1ce4'e5b9U;
  value = (value ^ value >> 27U) * 0x94d0'49bb'1331'11ebU;
  return value ^ value >> 31U;
}

class Pattern {
 public:
  Pattern(std::uint64_t seed, std::uint64_t round) : base_{mix(mix(seed) + round)} {}

  void fill(std::span<std::byte> out) const {
    each_word(out.size(), [&](std::size_t at, std::uint64_t word, std::size_t size) {
      std::memcpy(&out[at], &word, size);
      return true;
    });
  }
  // The offset of the first eight bytes that are wrong; the size if none are.
  [[nodiscard]] std::size_t compare(std::span<const std::byte> in) const {
    return each_word(in.size(), [&](std::size_t at, std::uint64_t word, std::size_t size) {
      return std::memcmp(&in[at], &word, size) == 0;
    });
  }

 private:
  template <typename Visit>
  std::size_t each_word(std::size_t size, Visit visit) const {
    for (std::size_t at = 0; at < size; at += 8) {
      const std::uint64_t word = (base_ + at) * 0x9e37'79b9'7f4a'7c15U ^ base_ >> 7U;
      if (!visit(at, word, size - at < 8 ? size - at : 8)) return at;
    }
    return size;
  }

  std::uint64_t base_;
};

// Mostly small, sometimes the maximum.
[[nodiscard]] inline std::uint32_t size_of_round(std::uint64_t seed, std::uint64_t round,
                                                 std::uint32_t largest) {
  const std::uint64_t chance = mix(seed ^ round * 0x1000'0001U);
  const std::uint32_t limit = chance % 8 == 0 ? largest : (chance % 8 < 3 ? 4096U : 256U);
  return static_cast<std::uint32_t>((chance >> 8U) % (limit < largest ? limit : largest)) + 1;
}

}  // namespace bad_days
