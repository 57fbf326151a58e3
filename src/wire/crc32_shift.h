// Computes how a CRC register changes while bytes pass that need not be read.
//
// The register is linear in its bytes: crc32(a ^ b, x ^ y) == crc32(a, x) ^ crc32(b, y) where x and
// y have the same length. So the contribution of each byte can be moved, added and removed
// separately:
//
//   skip zeros            crc32(s, n zero bytes) == crc32_shift(s, n)
//   join two runs         crc32(s, x then y) == crc32_combine(crc32(s, x), crc32(0, y), size of y)
//   change a field        crc32(s, new) == crc32(s, old) ^ Crc32Field16{bytes after it}(old ^ new)
//   find a hidden field   Crc32Field16{bytes after it}.solve(difference of the two CRCs)
//
// The third lets the packets of a train share one CRC although each has its own IPv4
// identification; the last recovers that identification where a UDP socket does not expose it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wire/crc32_polynomial.h"

namespace nerve::wire {

// base^(2^k) for each bit k of an exponent, squared at compile time.
constexpr std::array<std::uint32_t, 64> crc32_squares(std::uint32_t base) {
  std::array<std::uint32_t, 64> squares{};
  for (std::uint32_t& square : squares) {
    square = base;
    base = crc32_multiply(base, base);
  }
  return squares;
}

inline constexpr auto kCrc32Forward = crc32_squares(crc32_x_to_the(8));
inline constexpr auto kCrc32Back = crc32_squares(crc32_x_to_the(kCrc32Order - 8));

// Skips a fixed number of zero bytes; computed once and applied many times.
class Crc32Shift {
 public:
  explicit constexpr Crc32Shift(std::uint64_t bytes,
                                const std::array<std::uint32_t, 64>& squares = kCrc32Forward) {
    for (std::size_t k = 0; bytes != 0; ++k, bytes >>= 1U) {
      if ((bytes & 1U) != 0) factor_ = crc32_multiply(factor_, squares[k]);
    }
  }
  [[nodiscard]] constexpr std::uint32_t operator()(std::uint32_t state) const {
    return crc32_multiply(state, factor_);
  }

 private:
  std::uint32_t factor_{kCrc32One};  // x^(8 * bytes)
};

[[nodiscard]] constexpr std::uint32_t crc32_shift(std::uint32_t state, std::uint64_t bytes) {
  return Crc32Shift{bytes}(state);
}

// The register before `bytes` zero bytes passed: the inverse of crc32_shift.
[[nodiscard]] constexpr std::uint32_t crc32_unshift(std::uint32_t state, std::uint64_t bytes) {
  return Crc32Shift{bytes, kCrc32Back}(state);
}

[[nodiscard]] constexpr std::uint32_t crc32_combine(std::uint32_t first, std::uint32_t second,
                                                    std::uint64_t second_bytes) {
  return crc32_shift(first, second_bytes) ^ second;
}

// A 16-bit big-endian field that ends `bytes_after` bytes before the end of the message.
class Crc32Field16 {
 public:
  explicit constexpr Crc32Field16(std::uint64_t bytes_after);

  // The change of the register when these bits of the field change. A counter that is incremented
  // changes two bits on average, so this is cheap along a train.
  [[nodiscard]] constexpr std::uint32_t operator()(std::uint16_t changed_bits) const {
    std::uint32_t change = 0;
    for (unsigned bits = changed_bits; bits != 0; bits &= bits - 1) {
      change ^= part_[static_cast<std::size_t>(std::countr_zero(bits))];
    }
    return change;
  }

  // The bits of the field whose change explains `difference` between two registers; nullopt when
  // the difference lies (also) elsewhere. One in 65 536 wrong CRCs is explained by chance.
  [[nodiscard]] constexpr std::optional<std::uint16_t> solve(std::uint32_t difference) const {
    const std::uint32_t field = back_(difference);
    if (field > 0xffffU) return std::nullopt;
    return static_cast<std::uint16_t>(field >> 8U | (field & 0xffU) << 8U);
  }

 private:
  std::array<std::uint32_t, 16> part_{};  // change per bit of the field, least significant first
  Crc32Shift back_;                       // moves a difference at the end of the message back to
                                          // the field
};

constexpr Crc32Field16::Crc32Field16(std::uint64_t bytes_after)
    : back_{bytes_after + 2, kCrc32Back} {
  // The field enters the low half of the register, first byte lowest. Each less significant bit of
  // a byte is one power of x further along.
  std::uint32_t part = crc32_shift(0x8000U, bytes_after + 2);
  for (const std::size_t byte : {std::size_t{0}, std::size_t{8}}) {
    for (std::size_t bit = 8; bit-- > 0;) {
      part_[byte + bit] = part;
      part = crc32_times_x(part);
    }
  }
}

// The register after eight bytes of ones, with which the ICRC of every RoCEv2 packet begins: the
// first four cancel the initial ones.
static_assert(crc32_shift(~0U, 4) == 0xdebb'20e3U);
static_assert(crc32_unshift(0xdebb'20e3U, 4) == ~0U);

}  // namespace nerve::wire
