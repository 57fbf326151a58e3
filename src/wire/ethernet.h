// The Ethernet header, with the VLAN tags that a switch port may have inserted (IEEE 802.1Q).
//
//    0..5     destination        6..11    source
//    then for each tag: 2 bytes 0x8100 or 0x88a8, 2 bytes priority:3 dei:1 vlan:12
//    last 2   EtherType of what follows
#pragma once

#include <array>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/wire_error.h"

namespace nerve::wire {

inline constexpr std::uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr std::uint16_t kEtherTypeIpv6 = 0x86dd;

using MacAddress = std::array<std::byte, 6>;

struct VlanTag {
  std::uint16_t type{0x8100};
  std::uint16_t control{};
  friend bool operator==(const VlanTag&, const VlanTag&) = default;
};

struct EthernetHeader {
  static constexpr std::size_t kMaxTags = 2;  // a customer tag inside a provider tag (802.1ad)
  static constexpr std::size_t kMaxSize = 14 + 4 * kMaxTags;

  MacAddress destination{};
  MacAddress source{};
  std::array<VlanTag, kMaxTags> tags{};
  std::uint8_t tag_count{};
  std::uint16_t ether_type{};
  friend bool operator==(const EthernetHeader&, const EthernetHeader&) = default;

  [[nodiscard]] std::size_t size() const { return 14U + 4U * tag_count; }
  // Returns kBadField for a third tag.
  static Result<EthernetHeader, WireError> decode(Bytes in);
  void encode(MutableBytes out) const;
};

// Whether an EtherType is that of a VLAN tag.
constexpr bool is_vlan_tag(std::uint16_t ether_type) {
  return ether_type == 0x8100 || ether_type == 0x88a8;
}

}  // namespace nerve::wire
