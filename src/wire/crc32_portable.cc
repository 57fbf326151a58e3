// Slicing: one table per byte of a sixteen-byte step gives the contribution of that byte after the
// bytes behind it have passed. The sixteen lookups are independent of each other.
#include <array>
#include <bit>
#include <cstring>

#include "wire/crc32_path.h"
#include "wire/crc32_polynomial.h"

namespace nerve::wire {
namespace {

constexpr std::size_t kStep = 16;

// kTables[k][i]: byte i followed by k zero bytes.
constexpr auto kTables = [] {
  std::array<std::array<std::uint32_t, 256>, kStep> tables{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = crc32_times_x(c);
    tables[0][i] = c;
  }
  for (std::size_t k = 1; k < kStep; ++k) {
    for (std::uint32_t i = 0; i < 256; ++i) {
      const std::uint32_t c = tables[k - 1][i];
      tables[k][i] = tables[0][c & 0xffU] ^ (c >> 8U);
    }
  }
  return tables;
}();

std::uint64_t little_endian(std::uint64_t word) {
  return std::endian::native == std::endian::big ? __builtin_bswap64(word) : word;
}

// The contribution of eight bytes that are followed by `after` more bytes of the step.
std::uint32_t slice(std::uint64_t word, std::size_t after) {
  std::uint32_t sum = 0;
  for (std::size_t i = 0; i < 8; ++i) sum ^= kTables[after + 7 - i][(word >> (8 * i)) & 0xffU];
  return sum;
}

template <bool kCopy>
std::uint32_t run(std::uint32_t state, [[maybe_unused]] std::byte* to, const std::byte* from,
                  std::size_t count) {
  for (; count >= kStep; count -= kStep) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::memcpy(&first, from, 8);
    std::memcpy(&second, from + 8, 8);
    if constexpr (kCopy) {
      std::memcpy(to, &first, 8);
      std::memcpy(to + 8, &second, 8);
      to += kStep;
    }
    from += kStep;
    state = slice(little_endian(first) ^ state, 8) ^ slice(little_endian(second), 0);
  }
  for (; count > 0; --count) {
    const std::byte byte = *from++;
    if constexpr (kCopy) *to++ = byte;
    state = kTables[0][(state ^ static_cast<std::uint32_t>(byte)) & 0xffU] ^ (state >> 8U);
  }
  return state;
}

std::uint32_t sum(std::uint32_t state, const std::byte* from, std::size_t count) {
  return run<false>(state, nullptr, from, count);
}

}  // namespace

constinit const Crc32Path kCrc32Portable{"portable", sum, run<true>};

}  // namespace nerve::wire
