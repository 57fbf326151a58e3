// Arithmetic of CRC-32: polynomials over GF(2) modulo
//
//   P = x^32 + x^26 + x^23 + x^22 + x^16 + x^12 + x^11 + x^10 + x^8 + x^7 + x^5 + x^4 + x^2 + x + 1
//
// Reflected, as on the wire: the most significant bit of a word is the coefficient of x^0.
// Everything is constexpr: the compiler computes the tables and folding constants.
#pragma once

#include <cstdint>

namespace nerve::wire {

inline constexpr std::uint32_t kCrc32Polynomial = 0xedb88320U;  // P without x^32, reflected
inline constexpr std::uint32_t kCrc32One = 0x8000'0000U;        // x^0
inline constexpr std::uint64_t kCrc32Order = 0xffff'ffffU;

constexpr std::uint32_t crc32_times_x(std::uint32_t a) {
  // Branch-free: the bit shifted out is effectively random, so a branch would be mispredicted half
  // of the time.
  return (a >> 1U) ^ (kCrc32Polynomial & (0U - (a & 1U)));
}

constexpr std::uint32_t crc32_multiply(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (int bit = 0; bit < 32; ++bit) {
    product ^= b & (0U - (a >> 31U));
    a <<= 1U;
    b = crc32_times_x(b);
  }
  return product;
}

// x^n modulo P, by repeated squaring.
constexpr std::uint32_t crc32_x_to_the(std::uint64_t n) {
  std::uint32_t power = kCrc32One;
  for (std::uint32_t square = kCrc32One >> 1U; n != 0; n >>= 1U) {
    if ((n & 1U) != 0) power = crc32_multiply(power, square);
    square = crc32_multiply(square, square);
  }
  return power;
}

// The constants with which a carry-less multiplication advances a 128-bit block by `bytes` along
// the message: low half times `low`, high half times `high`, added. They are one bit longer than a
// register because the product of two reflected numbers comes out one bit short.
struct Crc32Fold {
  std::uint64_t low;
  std::uint64_t high;
};

constexpr Crc32Fold crc32_fold_by(std::uint64_t bytes) {
  return {std::uint64_t{crc32_x_to_the(bytes * 8 + 32)} << 1U,
          std::uint64_t{crc32_x_to_the(bytes * 8 - 32)} << 1U};
}

// P with all its 33 coefficients, x^32 lowest, and the integer part of x^64 / P in the same form,
// which turns a division by P into a multiplication.
inline constexpr std::uint64_t kCrc32Whole = std::uint64_t{kCrc32Polynomial} << 1U | 1U;
inline constexpr std::uint64_t kCrc32Reciprocal = [] {
  // Long division: x^32 goes in once and leaves x^32 mod P, that is, P's lower terms. The bit
  // shifted out at each further step is the next coefficient of the quotient.
  std::uint64_t quotient = 1;
  std::uint32_t rest = kCrc32Polynomial;
  for (unsigned k = 1; k <= 32; ++k) {
    quotient |= std::uint64_t{rest & 1U} << k;
    rest = crc32_times_x(rest);
  }
  return quotient;
}();

static_assert(crc32_x_to_the(32) == kCrc32Polynomial);
// P is primitive: the powers of x return to one after 2^32 - 1 steps, which makes division
// possible.
static_assert(crc32_x_to_the(kCrc32Order) == kCrc32One);

}  // namespace nerve::wire
