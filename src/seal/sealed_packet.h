// The layout of a sealed packet: what its sender and its receiver agree on.
//
//    BTH (12) | header (16) | opcode (1), zero (3) | extended headers | payload | pad | tag (16)
//                            \__________________ encrypted ___________________/
//
// The BTH is that of the plain packet, except for its opcode. There is no ICRC: the tag covers
// more.
#pragma once

#include <array>

#include "seal/crypto.h"
#include "seal/header.h"
#include "wire/frame.h"

namespace nerve::seal {

inline constexpr std::size_t kInnerSize = 4;  // the plain packet's opcode, and zeros
inline constexpr std::size_t kClearSize = wire::Bth::kSize + Header::kSize;
// What sealing adds to a plain packet, apart from its ICRC.
inline constexpr std::size_t kOverhead = Header::kSize + kInnerSize + kTagSize;

[[nodiscard]] inline std::size_t sealed_size(const wire::Frame& frame) {
  return frame.headers.size() + frame.payload_length + frame.headers.bth.pad + kOverhead;
}

[[nodiscard]] inline bool is_sealed(Bytes udp_payload) {
  return udp_payload.size() >= kClearSize && udp_payload[0] == std::byte{kSealedOpcode};
}

// The byte of the BTH with FECN and BECN, which the network may set. It is taken as 0xff.
inline constexpr std::size_t kBthMutableByte = 4;

// What is authenticated, but not encrypted: both addresses, the BTH without the bits that the
// network may set, and the header.
using Associated = std::array<std::byte, 2 * sizeof(wire::Gid) + kClearSize>;
[[nodiscard]] Associated associated_data(const wire::Flow& flow,
                                         std::span<const std::byte, kClearSize> clear);

}  // namespace nerve::seal
