// The invariant CRC that closes every RoCEv2 packet (IBTA annex A17).
//
// It is a CRC-32 over eight octets of ones (in the place of InfiniBand's LRH), the IP and UDP
// headers, the BTH and everything after it up to the ICRC itself. What routers and switches may
// change on the way counts as ones:
//
//    IPv4   traffic class, hop limit, header checksum
//    IPv6   traffic class, flow label, hop limit
//    UDP    checksum
//    BTH    octet 4: FECN, BECN and six reserved bits
//
// Everything else is covered, the IPv4 identification too. It is written least significant octet
// first, unlike all else in the packet.
#pragma once

#include <array>
#include <cstdint>

#include "base/octets.h"

namespace nerve::wire {

inline constexpr std::size_t kIcrcSize = 4;

// The CRC register after the headers from the first octet of the IP header to the last of the BTH,
// which is all of `front`. Feed it what follows (crc32.h), then close it.
[[nodiscard]] std::uint32_t icrc_begin(Octets front);

// The ICRC as it stands in the packet, from the register after the last octet before it.
[[nodiscard]] constexpr std::array<std::byte, kIcrcSize> icrc_end(std::uint32_t state) {
  const std::uint32_t crc = ~state;
  return {static_cast<std::byte>(crc & 0xffU), static_cast<std::byte>(crc >> 8U & 0xffU),
          static_cast<std::byte>(crc >> 16U & 0xffU), static_cast<std::byte>(crc >> 24U)};
}

}  // namespace nerve::wire
