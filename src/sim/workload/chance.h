// Exponentially distributed times, in integers only: the last bit of a library's logarithm differs
// between machines.
#pragma once

#include <bit>
#include <cstdint>

#include "base/check.h"
#include "base/prng.h"

namespace nerve::sim {

// -ln(x / 2^64) * 2^32, for x > 0. Computes the base-2 logarithm bit by bit: squaring a number
// doubles its logarithm, and the next bit is whether the square has reached 2.
[[nodiscard]] constexpr std::uint64_t minus_log(std::uint64_t x) {
  CHECK(x > 0);
  __extension__ using Wide = unsigned __int128;
  constexpr unsigned kBits = 32;
  const auto zeros = static_cast<unsigned>(std::countl_zero(x));
  std::uint64_t mantissa = x << zeros;  // 2^63 represents 1
  std::uint64_t fraction = 0;
  for (unsigned i = 0; i < kBits; ++i) {
    const Wide square = static_cast<Wide>(mantissa) * mantissa;
    const bool reached = (square >> 127) != 0;
    fraction = fraction << 1 | (reached ? 1U : 0U);
    mantissa = static_cast<std::uint64_t>(square >> (reached ? 64 : 63));
  }
  const std::uint64_t minus_log2 = (std::uint64_t{zeros + 1} << kBits) - fraction;
  constexpr std::uint64_t kLn2 = 0xb172'17f7'd1cf'79ac;  // * 2^64
  return static_cast<std::uint64_t>(static_cast<Wide>(minus_log2) * kLn2 >> 64);
}

// With this mean, which must be below 2^57.
[[nodiscard]] constexpr std::uint64_t exponential(Prng& prng, std::uint64_t mean) {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t drawn = prng.next();
  return static_cast<std::uint64_t>(static_cast<Wide>(minus_log(drawn == 0 ? 1 : drawn)) * mean >>
                                    32);
}

}  // namespace nerve::sim
