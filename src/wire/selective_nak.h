// The selective NAK of selective repeat: an ACKNOWLEDGE whose AETH has a NAK code that the standard
// reserves. The PSN of its BTH is the one that is expected, as in every NAK: all before it have
// arrived. The 24 bits that hold the MSN elsewhere name the packet that arrived out of order.
//
// It is sent only to a peer that has agreed to it (docs/decisions/0011). To one that has not it is
// a NAK of a reserved code, and a packet of the usual size.
#pragma once

#include <optional>

#include "base/ids.h"
#include "wire/headers.h"
#include "wire/syndrome.h"

namespace nerve::wire {

[[nodiscard]] constexpr Aeth selective_nak(Psn arrived) {
  return {.syndrome = syndrome(NakCode::kSelective), .msn = arrived.value()};
}

// The packet that a selective NAK tells of; nullopt for every other AETH.
[[nodiscard]] constexpr std::optional<Psn> arrived_out_of_order(const Aeth& aeth) {
  const bool selective = kind_of(aeth.syndrome) == AckKind::kNak &&
                         value_of(aeth.syndrome) == static_cast<unsigned>(NakCode::kSelective);
  if (!selective) return std::nullopt;
  return Psn{aeth.msn};
}

}  // namespace nerve::wire
