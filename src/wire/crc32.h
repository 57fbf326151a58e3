// CRC-32 (IEEE 802.3, reflected): the sum under RoCE's ICRC.
//
// These work on the shift register itself: begin with ~0, feed bytes in any number of calls, and
// invert the result to get the CRC that is written down. The work is done by the fastest path this
// processor has (crc32_path.h); all paths give the same result. crc32_shift.h knows how the
// register changes without looking at all the bytes again.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace nerve::wire {

[[nodiscard]] std::uint32_t crc32(std::uint32_t state, Bytes data);

// Copies `from` to `to` and returns crc32(state, from), touching each byte once. The two do not
// overlap.
[[nodiscard]] std::uint32_t crc32_copy(std::uint32_t state, MutableBytes to, Bytes from);

}  // namespace nerve::wire
