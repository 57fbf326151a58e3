// Selective repeat on the wire: the bit with which two ends announce it, and the selective NAK,
// with which a responder reports packets that arrived out of order.
//
// The bit is the lowest of the seven reserved bits of the BTH behind the ACK request. Every other
// implementation sends it as zero and ignores it. The ICRC covers it, so neither a switch nor a bit
// error can set it.
//
// A selective NAK is an ACKNOWLEDGE whose AETH has a NAK code that the standard reserves. As in
// every NAK, the PSN of its BTH is the expected one: all packets before it have arrived. The 24
// bits that otherwise hold the MSN name packets that arrived out of order:
//
//    code 16   one packet: its PSN
//    code 17   a run of packets: 12 bits, how far its first is ahead of the expected PSN;
//              12 bits, how many follow that one
//
// It is sent only to a peer that has announced support (docs/decisions/0011, 0016). Any other
// receiver sees a NAK with a reserved code in a packet of the usual size.
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "wire/bth.h"
#include "wire/headers.h"
#include "wire/syndrome.h"

namespace nerve::wire {

// In Bth::reserved7: the sender understands selective NAKs and sends them.
inline constexpr std::uint8_t kSelectiveCapable = 0x01;

[[nodiscard]] constexpr bool is_selective_capable(const Bth& bth) {
  return (bth.reserved7 & kSelectiveCapable) != 0;
}

// One or more packets with consecutive PSNs.
struct PsnRun {
  Psn first{};
  std::uint32_t count{1};
  friend bool operator==(const PsnRun&, const PsnRun&) = default;
};

// A run that code 17 can name begins 1 to kMaxRunStart PSNs ahead of the expected one.
inline constexpr std::uint32_t kMaxRunStart = 0xfff;
inline constexpr std::uint32_t kMaxRunLength = 0x1000;

[[nodiscard]] constexpr Aeth selective_nak(Psn arrived) {
  return {.syndrome = syndrome(NakCode::kSelective), .msn = arrived.value()};
}

// The caller respects the limits above.
[[nodiscard]] constexpr Aeth selective_nak(Psn expected, const PsnRun& run) {
  const auto ahead = static_cast<std::uint32_t>(run.first.distance_from(expected));
  return {.syndrome = syndrome(NakCode::kSelectiveRun), .msn = ahead << 12U | (run.count - 1)};
}

// The packets that a selective NAK names; nullopt for every other AETH. `expected` is the PSN of
// its BTH.
[[nodiscard]] constexpr std::optional<PsnRun> arrived_out_of_order(Psn expected, const Aeth& aeth) {
  if (kind_of(aeth.syndrome) != AckKind::kNak) return std::nullopt;
  switch (static_cast<NakCode>(value_of(aeth.syndrome))) {
    case NakCode::kSelective:
      return PsnRun{.first = Psn{aeth.msn}};
    case NakCode::kSelectiveRun:
      return PsnRun{.first = expected + (aeth.msn >> 12U & 0xfffU),
                    .count = (aeth.msn & 0xfffU) + 1};
    default:
      return std::nullopt;
  }
}

}  // namespace nerve::wire
