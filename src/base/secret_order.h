// Puts the numbers below a limit into an order that only the holder of a key can predict.
//
// Position n of the order is a keyed permutation of n: every number appears once before any
// repeats, nothing is stored, and the numbers seen so far do not reveal the next one. The
// permutation is a Feistel network whose round function is SipHash, on the smallest even number of
// bits that holds the limit; a result beyond the limit is permuted again until it is below it.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/siphash.h"

namespace nerve {

class SecretOrder {
 public:
  // `use` separates orders that share a key: use a different value, of at most 24 bits, for each.
  // `limit` is at least one and at most 2^30.
  constexpr SecretOrder(const SipKey& key, std::uint32_t use, std::uint32_t limit)
      : key_{key},
        use_{std::uint64_t{use} << 40U},
        limit_{limit},
        half_bits_{std::max((static_cast<unsigned>(std::bit_width(limit - 1)) + 1) / 2, 1U)} {
    CHECK(use > 0 && use < 1U << 24U && limit >= 1 && limit <= 1U << 30U);
  }

  // The number at a position below the limit.
  [[nodiscard]] constexpr std::uint32_t operator[](std::uint32_t position) const {
    std::uint32_t number = position;
    do {
      number = permute(number);
    } while (number >= limit_);
    return number;
  }

 private:
  // Halves may be a few bits wide, where each round mixes little.
  static constexpr std::uint64_t kRounds = 10;

  [[nodiscard]] constexpr std::uint32_t permute(std::uint32_t value) const {
    const std::uint32_t mask = (1U << half_bits_) - 1;
    std::uint32_t left = value >> half_bits_;
    std::uint32_t right = value & mask;
    for (std::uint64_t round = 0; round < kRounds; ++round) {
      const auto mixed = static_cast<std::uint32_t>(siphash(key_, use_ | round << 32U | right));
      const std::uint32_t swapped = left ^ (mixed & mask);
      left = right;
      right = swapped;
    }
    return left << half_bits_ | right;
  }

  SipKey key_;
  std::uint64_t use_;
  std::uint32_t limit_;
  unsigned half_bits_;
};

}  // namespace nerve
