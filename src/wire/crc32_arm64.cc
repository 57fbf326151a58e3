// Long runs are folded by carry-less multiplication in eight independent 128-bit lanes: each step
// moves a lane 128 bytes along the message and adds the data found there. Finally one lane holds
// sixteen bytes with the same remainder as the whole message, and CRC32X reduces them; it also
// handles runs too short to fold. CRC32X alone takes two cycles for eight bytes; with enough lanes
// the multiplier takes one cycle for sixteen.
#if defined(__aarch64__)

#include <arm_acle.h>
#include <arm_neon.h>

#include <cstring>

#include "wire/crc32_path.h"
#include "wire/crc32_polynomial.h"

// GCC and Clang spell the target attribute differently. The whole file must not be built for these
// instructions, or the compiler would use them outside these functions.
#if defined(__clang__)
#define NERVE_TARGET __attribute__((target("crc,aes")))
#define NERVE_CRC32(suffix) __builtin_arm_crc32##suffix
#else
#define NERVE_TARGET __attribute__((target("+crc+crypto")))
#define NERVE_CRC32(suffix) __crc32##suffix
#endif
#define NERVE_INLINE NERVE_TARGET __attribute__((always_inline)) inline

namespace nerve::wire {
namespace {

// The shortest runs for which four and eight lanes win, measured on Neoverse-V1
// (bench/icrc_bench.cc).
constexpr std::size_t kFourLanes = 128;
constexpr std::size_t kEightLanes = 256;

NERVE_INLINE uint64x2_t multiply_low(uint64x2_t a, uint64x2_t b) {
#if defined(__clang__)
  return (uint64x2_t)__builtin_neon_vmull_p64(a[0], b[0]);
#else
  return vreinterpretq_u64_p128(
      vmull_p64(static_cast<poly64_t>(a[0]), static_cast<poly64_t>(b[0])));
#endif
}

NERVE_INLINE uint64x2_t multiply_high(uint64x2_t a, uint64x2_t b) {
#if defined(__clang__)
  return (uint64x2_t)__builtin_neon_vmull_p64(a[1], b[1]);
#else
  return vreinterpretq_u64_p128(vmull_high_p64(vreinterpretq_p64_u64(a), vreinterpretq_p64_u64(b)));
#endif
}

// Moves `block` along the message by the distance of `by` and adds `data`.
NERVE_INLINE uint64x2_t fold(uint64x2_t block, uint64x2_t by, uint64x2_t data) {
  return veorq_u64(veorq_u64(multiply_low(block, by), multiply_high(block, by)), data);
}

template <std::size_t kBytes>
NERVE_INLINE uint64x2_t distance() {
  alignas(16) static constexpr Crc32Fold kFold = crc32_fold_by(kBytes);
  return vld1q_u64(&kFold.low);
}

// Reads the message and, when copying, writes the bytes it has read.
template <bool kCopy>
struct Cursor {
  const std::byte* from;
  std::byte* to;
  std::size_t left;

  NERVE_INLINE uint64x2_t block(std::size_t at) const {
    const uint8x16_t data = vld1q_u8(reinterpret_cast<const std::uint8_t*>(from) + at);
    if constexpr (kCopy) vst1q_u8(reinterpret_cast<std::uint8_t*>(to) + at, data);
    return vreinterpretq_u64_u8(data);
  }
  template <class Word>
  NERVE_INLINE Word word() {
    Word word;
    std::memcpy(&word, from, sizeof word);
    if constexpr (kCopy) std::memcpy(to, &word, sizeof word);
    advance(sizeof word);
    return word;
  }
  NERVE_INLINE void advance(std::size_t bytes) {
    from += bytes;
    if constexpr (kCopy) to += bytes;
    left -= bytes;
  }
};

// Folds all whole blocks of 64 bytes, four lanes at a time. There is at least one.
template <bool kCopy>
NERVE_INLINE std::uint32_t fold_from(uint64x2_t a, uint64x2_t b, uint64x2_t c, uint64x2_t d,
                                     Cursor<kCopy>& cursor) {
  const uint64x2_t by64 = distance<64>();
  for (; cursor.left >= 64; cursor.advance(64)) {
    a = fold(a, by64, cursor.block(0));
    b = fold(b, by64, cursor.block(16));
    c = fold(c, by64, cursor.block(32));
    d = fold(d, by64, cursor.block(48));
  }
  const uint64x2_t by32 = distance<32>();
  const uint64x2_t last = fold(fold(a, by32, c), distance<16>(), fold(b, by32, d));
  return NERVE_CRC32(d)(NERVE_CRC32(d)(0, vgetq_lane_u64(last, 0)), vgetq_lane_u64(last, 1));
}

template <bool kCopy>
NERVE_INLINE uint64x2_t first_block(std::uint32_t state, const Cursor<kCopy>& cursor) {
  // The register is added to the first four bytes; from there on, folding starts at zero.
  return veorq_u64(cursor.block(0), vcombine_u64(vcreate_u64(state), vcreate_u64(0)));
}

template <bool kCopy>
NERVE_TARGET std::uint32_t fold_long(std::uint32_t state, Cursor<kCopy>& cursor) {
  const uint64x2_t by128 = distance<128>();
  uint64x2_t lane[8];
  lane[0] = first_block(state, cursor);
  for (std::size_t i = 1; i < 8; ++i) lane[i] = cursor.block(i * 16);
  for (cursor.advance(128); cursor.left >= 128; cursor.advance(128)) {
    for (std::size_t i = 0; i < 8; ++i) lane[i] = fold(lane[i], by128, cursor.block(i * 16));
  }
  const uint64x2_t by64 = distance<64>();
  return fold_from(fold(lane[0], by64, lane[4]), fold(lane[1], by64, lane[5]),
                   fold(lane[2], by64, lane[6]), fold(lane[3], by64, lane[7]), cursor);
}

template <bool kCopy>
NERVE_TARGET std::uint32_t run(std::uint32_t state, std::byte* to, const std::byte* from,
                               std::size_t count) {
  Cursor<kCopy> cursor{from, to, count};
  if (count >= kEightLanes) {
    state = fold_long(state, cursor);
  } else if (count >= kFourLanes) {
    const uint64x2_t a = first_block(state, cursor);
    const uint64x2_t b = cursor.block(16), c = cursor.block(32), d = cursor.block(48);
    cursor.advance(64);
    state = fold_from(a, b, c, d, cursor);
  }
  while (cursor.left >= 8) state = NERVE_CRC32(d)(state, cursor.template word<std::uint64_t>());
  if (cursor.left >= 4) state = NERVE_CRC32(w)(state, cursor.template word<std::uint32_t>());
  if (cursor.left >= 2) state = NERVE_CRC32(h)(state, cursor.template word<std::uint16_t>());
  if (cursor.left >= 1) state = NERVE_CRC32(b)(state, cursor.template word<std::uint8_t>());
  return state;
}

std::uint32_t sum(std::uint32_t state, const std::byte* from, std::size_t count) {
  return run<false>(state, nullptr, from, count);
}

std::uint32_t copy(std::uint32_t state, std::byte* to, const std::byte* from, std::size_t count) {
  return run<true>(state, to, from, count);
}

}  // namespace

constinit const Crc32Path kCrc32Arm64{"arm64", sum, copy};

}  // namespace nerve::wire

#endif
