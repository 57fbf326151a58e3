// The only source of randomness: seeded by the caller, identical on every machine (splitmix64).
#pragma once

#include <cstdint>

#include "base/check.h"

namespace nerve {

class Prng {
 public:
  explicit constexpr Prng(std::uint64_t seed) : state_{seed} {}

  constexpr std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // A number in [0, bound). The modulo bias is below bound / 2^64.
  constexpr std::uint64_t below(std::uint64_t bound) {
    CHECK(bound > 0);
    return next() % bound;
  }
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    CHECK(low <= high);
    const std::uint64_t span = high - low + 1;  // zero stands for 2^64
    return span == 0 ? next() : low + below(span);
  }
  constexpr bool chance(std::uint32_t per_mille) { return next() % 1000 < per_mille; }

 private:
  std::uint64_t state_;
};

}  // namespace nerve
