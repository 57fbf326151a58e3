// What two ends that use parts of Ultra Ethernet report to each other, in fields that RoCEv2 has:
//
//    code 18 of an ACKNOWLEDGE   the packet with this PSN arrived without its payload, because a
//                                switch has trimmed it
//    code 19 of an ACKNOWLEDGE   receiver credit: the packets granted so far, modulo 2^24
//    six reserved bits of a BTH  demand: the packets that the sender has beyond this one
//
// As in every NAK, the PSN of the BTH is the expected one. Both ends are configured; there is no
// negotiation (docs/decisions/0026-ultra-ethernet-in-roce-packets.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "wire/bth.h"
#include "wire/headers.h"
#include "wire/syndrome.h"

namespace nerve::wire {

[[nodiscard]] constexpr Aeth trimmed_nak(Psn arrived) {
  return {.syndrome = syndrome(NakCode::kTrimmed), .msn = arrived.value()};
}
[[nodiscard]] constexpr Aeth receiver_credit(std::uint32_t granted) {
  return {.syndrome = syndrome(NakCode::kReceiverCredit), .msn = granted & 0xff'ffffU};
}

[[nodiscard]] constexpr bool is_trimmed_nak(const Aeth& aeth) {
  return aeth.syndrome == syndrome(NakCode::kTrimmed);
}
[[nodiscard]] constexpr bool is_receiver_credit(const Aeth& aeth) {
  return aeth.syndrome == syndrome(NakCode::kReceiverCredit);
}

// Six bits: up to 15 exactly, then four values for each power of two, rounded down, so that a
// receiver grants no more than the sender has. Later packets correct what was rounded.
[[nodiscard]] constexpr std::uint8_t demand_code(std::uint64_t packets) {
  if (packets < 16) return static_cast<std::uint8_t>(packets);
  const auto octave = static_cast<unsigned>(std::bit_width(packets)) - 5;  // of 16 to 31: zero
  const auto step = static_cast<unsigned>(packets >> (octave + 2U)) & 3U;
  return static_cast<std::uint8_t>(std::min(16U + 4 * octave + step, 63U));
}
[[nodiscard]] constexpr std::uint32_t demand_of(std::uint8_t code) {
  if (code < 16) return code;
  const unsigned octave = (code - 16U) / 4;
  return (4U + (code & 3U)) << (octave + 2U);
}

// In Bth::reserved7, above kSelectiveCapable.
constexpr void set_demand(Bth& bth, std::uint8_t code) {
  bth.reserved7 = static_cast<std::uint8_t>((bth.reserved7 & 1U) | (code & 63U) << 1U);
}
[[nodiscard]] constexpr std::uint32_t demand_of(const Bth& bth) {
  return demand_of(static_cast<std::uint8_t>(bth.reserved7 >> 1U & 63U));
}

static_assert(demand_of(demand_code(31)) == 28 && demand_of(demand_code(32)) == 32);

}  // namespace nerve::wire
