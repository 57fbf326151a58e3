// The invariant CRC that closes every RoCEv2 packet (IBTA annex A17).
//
// It is a CRC-32 over eight bytes of ones (in the place of InfiniBand's LRH), the IP and UDP
// headers, the BTH and everything after it up to the ICRC itself. What routers and switches may
// change on the way counts as ones:
//
//    IPv4   traffic class, hop limit, header checksum
//    IPv6   traffic class, flow label, hop limit
//    UDP    checksum
//    BTH    byte 4: FECN, BECN and six reserved bits
//
// Everything else is covered, the IPv4 identification too. It is written least significant byte
// first, unlike all else in the packet.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "wire/bth.h"

namespace nerve::wire {

inline constexpr std::size_t kIcrcSize = 4;

// The CRC register after the IP and UDP headers, which are all of `outer`.
[[nodiscard]] std::uint32_t icrc_outer(Bytes outer);

// The register after the BTH too. Feed it what follows (crc32.h), then close it.
[[nodiscard]] std::uint32_t icrc_bth(std::uint32_t state,
                                     std::span<const std::byte, Bth::kSize> bth);

// The ICRC as it stands in the packet, from the register after the last byte before it.
[[nodiscard]] constexpr std::array<std::byte, kIcrcSize> icrc_end(std::uint32_t state) {
  const std::uint32_t crc = ~state;
  return {static_cast<std::byte>(crc & 0xffU), static_cast<std::byte>(crc >> 8U & 0xffU),
          static_cast<std::byte>(crc >> 16U & 0xffU), static_cast<std::byte>(crc >> 24U)};
}

// The bits in which that register differs from the one that the ICRC of a packet tells; zero when
// the packet is good.
[[nodiscard]] constexpr std::uint32_t icrc_difference(
    std::uint32_t state, std::span<const std::byte, kIcrcSize> received) {
  std::uint32_t crc = 0;
  for (std::size_t i = kIcrcSize; i-- > 0;) {
    crc = crc << 8U | std::to_integer<std::uint32_t>(received[i]);
  }
  return ~state ^ crc;
}

// Makes the ICRC that closes `udp_payload` follow a change of some bits in a 16-bit field of the
// outer headers, which ends `bytes_after` bytes before the BTH. A bad ICRC stays as bad as it
// was.
void icrc_follow(MutableBytes udp_payload, std::size_t bytes_after, std::uint16_t changed_bits);

// For that call: where the fields lie that a sender learns late.
inline constexpr std::size_t kAfterIpv4Identification = 22;
inline constexpr std::size_t kAfterUdpSourcePort = 6;
inline constexpr std::size_t kAfterUdpDestinationPort = 4;

}  // namespace nerve::wire
