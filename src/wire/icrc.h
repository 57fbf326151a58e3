// The invariant CRC that ends every RoCEv2 packet (IBTA annex A17).
//
// It is a CRC-32 over eight bytes of ones (in the place of InfiniBand's LRH), the IP and UDP
// headers, the BTH and everything after it up to the ICRC itself. Fields that routers and switches
// may change count as ones:
//
//    IPv4   traffic class, hop limit, header checksum
//    IPv6   traffic class, flow label, hop limit
//    UDP    checksum
//    BTH    byte 4: FECN, BECN and six reserved bits
//
// Everything else is covered, including the IPv4 identification. Unlike every other field of the
// packet, the ICRC is written least significant byte first.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "wire/bth.h"

namespace nerve::wire {

inline constexpr std::size_t kIcrcSize = 4;

// The CRC register after the IP and UDP headers; `outer` is exactly those.
[[nodiscard]] std::uint32_t icrc_outer(Bytes outer);

// The register after the BTH. Feed it the rest of the packet (crc32.h), then pass it to icrc_end().
[[nodiscard]] std::uint32_t icrc_bth(std::uint32_t state,
                                     std::span<const std::byte, Bth::kSize> bth);

// The ICRC as it is written into the packet, from the register after the last byte before it.
[[nodiscard]] constexpr std::array<std::byte, kIcrcSize> icrc_end(std::uint32_t state) {
  const std::uint32_t crc = ~state;
  return {static_cast<std::byte>(crc & 0xffU), static_cast<std::byte>(crc >> 8U & 0xffU),
          static_cast<std::byte>(crc >> 16U & 0xffU), static_cast<std::byte>(crc >> 24U)};
}

// The bits in which that register differs from the one that the packet's ICRC implies; zero when
// the packet is good.
[[nodiscard]] constexpr std::uint32_t icrc_difference(
    std::uint32_t state, std::span<const std::byte, kIcrcSize> received) {
  std::uint32_t crc = 0;
  for (std::size_t i = kIcrcSize; i-- > 0;) {
    crc = crc << 8U | std::to_integer<std::uint32_t>(received[i]);
  }
  return ~state ^ crc;
}

// Updates the ICRC at the end of `udp_payload` after some bits of a 16-bit field of the outer
// headers changed. The field ends `bytes_after` bytes before the BTH. A bad ICRC stays bad.
void icrc_follow(MutableBytes udp_payload, std::size_t bytes_after, std::uint16_t changed_bits);

// For that call: the positions of the fields that a sender learns late.
inline constexpr std::size_t kAfterIpv4Identification = 22;
inline constexpr std::size_t kAfterUdpSourcePort = 6;
inline constexpr std::size_t kAfterUdpDestinationPort = 4;

}  // namespace nerve::wire
