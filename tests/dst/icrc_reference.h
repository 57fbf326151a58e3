// A second implementation of the invariant CRC, bit by bit and from the standard alone (IBTA 7.8.1,
// annex A17): an engine whose sender and receiver share a mistake agrees with itself, but not with
// this.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace nerve::dst {

// The offset of the BTH.
inline std::size_t transport_offset(Bytes packet) {
  const bool ipv4 = std::to_integer<unsigned>(packet[0]) >> 4U == 4;
  return (ipv4 ? 20U : 40U) + 8U;
}

// The ICRC as in the packet's last four bytes.
inline std::uint32_t icrc_of(Bytes packet) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    value |= std::to_integer<std::uint32_t>(packet[packet.size() - 4 + i]) << (8 * i);
  }
  return value;
}

inline std::uint32_t icrc_reference(Bytes packet) {
  static const std::vector<std::uint32_t> table = [] {
    std::vector<std::uint32_t> t(256);
    for (std::uint32_t i = 0; i < 256; ++i) {
      t[i] = i;
      for (int bit = 0; bit < 8; ++bit) t[i] = (t[i] >> 1U) ^ ((t[i] & 1U) != 0 ? 0xedb88320U : 0U);
    }
    return t;
  }();
  const std::size_t bth = transport_offset(packet);
  const bool ipv4 = bth == 28;
  const auto changes_on_the_way = [&](std::size_t at) {
    if (ipv4 && (at == 1 || at == 8 || at == 10 || at == 11)) return true;
    if (!ipv4 && (at == 1 || at == 2 || at == 3 || at == 7)) return true;
    return at == bth - 2 || at == bth - 1 || at == bth + 4;
  };
  std::uint32_t crc = ~std::uint32_t{0};
  const auto feed = [&](std::uint8_t byte) { crc = (crc >> 8U) ^ table[(crc ^ byte) & 0xffU]; };
  for (int i = 0; i < 8; ++i) feed(0xff);  // in the place of the LRH
  for (std::size_t at = 0; at + 4 < packet.size(); ++at) {
    auto byte = std::to_integer<std::uint8_t>(packet[at]);
    if (changes_on_the_way(at)) byte = 0xff;
    if (!ipv4 && at == 0) byte |= 0x0f;
    feed(byte);
  }
  return ~crc;
}

}  // namespace nerve::dst
