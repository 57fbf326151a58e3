// Folds by carry-less multiplication in four independent 128-bit lanes: each step moves a lane 64
// bytes along the message and adds the data found there; one lane then folds the rest. The CRC32
// instruction of x86-64 has another polynomial, so the last sixteen bytes are reduced by
// multiplication too.
#if defined(__x86_64__)

#include <immintrin.h>

#include "wire/crc32_path.h"
#include "wire/crc32_polynomial.h"

// Only for these functions: the rest of the file and the library run on any x86-64.
#define NERVE_TARGET __attribute__((target("pclmul,sse4.1")))
#define NERVE_INLINE NERVE_TARGET __attribute__((always_inline)) inline

namespace nerve::wire {
namespace {

constexpr std::size_t kBlock = 16;
constexpr std::size_t kFourLanes = 64;

// The halves of the operands that a multiplication takes; the low digit selects for the first.
constexpr int kLowLow = 0x00, kLowHigh = 0x10, kHighHigh = 0x11;

NERVE_INLINE __m128i pair(std::uint64_t low, std::uint64_t high) {
  return _mm_set_epi64x(static_cast<long long>(high), static_cast<long long>(low));
}

template <std::size_t kBytes>
NERVE_INLINE __m128i distance() {
  constexpr Crc32Fold kFold = crc32_fold_by(kBytes);
  return pair(kFold.low, kFold.high);
}

// Moves `block` along the message by the distance of `by` and adds `data`.
NERVE_INLINE __m128i fold(__m128i block, __m128i by, __m128i data) {
  const __m128i low = _mm_clmulepi64_si128(block, by, kLowLow);
  const __m128i high = _mm_clmulepi64_si128(block, by, kHighHigh);
  return _mm_xor_si128(_mm_xor_si128(low, high), data);
}

// Reduces sixteen bytes to 96 bits, to 64, and then by Barrett: multiplying by the reciprocal of P
// gives the quotient, and P times the quotient is subtracted.
NERVE_INLINE std::uint32_t reduce(__m128i block) {
  constexpr std::uint64_t kBy96 = crc32_fold_by(kBlock).high;
  constexpr std::uint64_t kBy64 = std::uint64_t{crc32_x_to_the(64)} << 1U;
  const __m128i low_word = pair(0xffff'ffffU, 0);
  const __m128i barrett = pair(kCrc32Whole, kCrc32Reciprocal);

  const __m128i bits96 =
      _mm_xor_si128(_mm_clmulepi64_si128(block, pair(kBy96, 0), kLowLow), _mm_srli_si128(block, 8));
  const __m128i bits64 =
      _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(bits96, low_word), pair(kBy64, 0), kLowLow),
                    _mm_srli_si128(bits96, 4));
  const __m128i quotient = _mm_and_si128(
      _mm_clmulepi64_si128(_mm_and_si128(bits64, low_word), barrett, kLowHigh), low_word);
  const __m128i rest = _mm_xor_si128(bits64, _mm_clmulepi64_si128(quotient, barrett, kLowLow));
  return static_cast<std::uint32_t>(_mm_extract_epi32(rest, 1));
}

// Reads the message and, when copying, writes the bytes it has read.
template <bool kCopy>
struct Cursor {
  const std::byte* from;
  std::byte* to;
  std::size_t left;

  NERVE_INLINE __m128i block(std::size_t at) const {
    const __m128i data = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + at));
    if constexpr (kCopy) _mm_storeu_si128(reinterpret_cast<__m128i*>(to + at), data);
    return data;
  }
  NERVE_INLINE void advance(std::size_t bytes) {
    from += bytes;
    if constexpr (kCopy) to += bytes;
    left -= bytes;
  }
};

// Folds all whole blocks. There is at least one.
template <bool kCopy>
NERVE_TARGET std::uint32_t fold_blocks(std::uint32_t state, Cursor<kCopy>& cursor) {
  // The register is added to the first four bytes; from there on, folding starts at zero.
  __m128i lane = _mm_xor_si128(cursor.block(0), _mm_cvtsi32_si128(static_cast<int>(state)));
  const __m128i by16 = distance<kBlock>();
  if (cursor.left >= 2 * kFourLanes) {
    const __m128i by64 = distance<kFourLanes>();
    __m128i b = cursor.block(16), c = cursor.block(32), d = cursor.block(48);
    for (cursor.advance(kFourLanes); cursor.left >= kFourLanes; cursor.advance(kFourLanes)) {
      lane = fold(lane, by64, cursor.block(0));
      b = fold(b, by64, cursor.block(16));
      c = fold(c, by64, cursor.block(32));
      d = fold(d, by64, cursor.block(48));
    }
    lane = fold(fold(fold(lane, by16, b), by16, c), by16, d);
  } else {
    cursor.advance(kBlock);
  }
  for (; cursor.left >= kBlock; cursor.advance(kBlock)) lane = fold(lane, by16, cursor.block(0));
  return reduce(lane);
}

std::uint32_t sum(std::uint32_t state, const std::byte* from, std::size_t count) {
  Cursor<false> cursor{from, nullptr, count};
  if (count >= kBlock) state = fold_blocks(state, cursor);
  return kCrc32Portable.sum(state, cursor.from, cursor.left);
}

std::uint32_t copy(std::uint32_t state, std::byte* to, const std::byte* from, std::size_t count) {
  Cursor<true> cursor{from, to, count};
  if (count >= kBlock) state = fold_blocks(state, cursor);
  return kCrc32Portable.copy(state, cursor.to, cursor.from, cursor.left);
}

}  // namespace

constinit const Crc32Path kCrc32X86{"x86", sum, copy};

}  // namespace nerve::wire

#endif
