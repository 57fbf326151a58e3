// CRC-32 (IEEE 802.3, reflected), which RoCE's ICRC is based on.
//
// These functions work on the shift register itself: start with ~0, feed bytes in any number of
// calls, and invert the result to get the CRC. The fastest implementation for this processor is
// used (crc32_path.h); all of them give the same result. crc32_shift.h computes how the register
// changes without reading the bytes again.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace nerve::wire {

[[nodiscard]] std::uint32_t crc32(std::uint32_t state, Bytes data);

// Copies `from` to `to` and returns crc32(state, from), touching each byte once. The two ranges
// must not overlap.
[[nodiscard]] std::uint32_t crc32_copy(std::uint32_t state, MutableBytes to, Bytes from);

}  // namespace nerve::wire
