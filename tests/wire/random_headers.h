// Random headers: every field that the opcode uses, and no other.
#pragma once

#include "base/prng.h"
#include "wire/headers.h"

namespace nerve::wire {

inline Bth random_bth(Prng& prng, Opcode code) {
  return Bth{.opcode = code,
             .solicited = prng.chance(500),
             .migrated = prng.chance(500),
             .pad = static_cast<std::uint8_t>(prng.below(4)),
             .pkey = PKey{static_cast<std::uint16_t>(prng.next())},
             .fecn = prng.chance(500),
             .becn = prng.chance(500),
             .dest_qp = Qpn{static_cast<std::uint32_t>(prng.next() & Qpn::kMask)},
             .ack_request = prng.chance(500),
             .psn = Psn{static_cast<std::uint32_t>(prng.next())},
             .version = static_cast<std::uint8_t>(prng.below(16)),
             .reserved6 = static_cast<std::uint8_t>(prng.below(64)),
             .reserved7 = static_cast<std::uint8_t>(prng.below(128))};
}

inline Headers random_headers(Prng& prng, Opcode code) {
  Headers headers{.bth = random_bth(prng, code)};
  const OpcodeInfo* info = find_opcode(code);
  if (info == nullptr) return headers;
  const auto has = [&](HeaderSet header) { return contains(info->headers, header); };
  const auto word = [&] { return static_cast<std::uint32_t>(prng.next()); };
  if (has(HeaderSet::kDeth)) headers.deth = {word(), Qpn{word() & Qpn::kMask}};
  if (has(HeaderSet::kXrcEth)) headers.xrc_srq = word() & 0xff'ffffU;
  if (has(HeaderSet::kFeth)) {
    headers.feth = {static_cast<std::uint8_t>(prng.below(16)),
                    static_cast<std::uint8_t>(prng.below(4))};
  }
  if (has(HeaderSet::kReth)) headers.reth = {prng.next(), RKey{word()}, word()};
  if (has(HeaderSet::kAtomicEth)) {
    headers.atomic = {prng.next(), RKey{word()}, prng.next(), prng.next()};
  }
  if (has(HeaderSet::kAeth)) {
    headers.aeth = {static_cast<std::uint8_t>(prng.below(256)), word() & 0xff'ffffU};
  }
  if (has(HeaderSet::kAtomicAckEth)) headers.atomic_ack = prng.next();
  if (has(HeaderSet::kImmDt)) headers.immediate = word();
  if (has(HeaderSet::kIeth)) headers.invalidate = RKey{word()};
  return headers;
}

}  // namespace nerve::wire
