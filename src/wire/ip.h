// IPv4, IPv6 and UDP headers as values, as far as RoCEv2 uses them (IBTA annex A17).
//
// IPv4 options are not supported: RoCEv2 has none, and the ICRC is defined without them.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/gid.h"
#include "wire/wire_error.h"

namespace nerve::wire {

inline constexpr std::uint8_t kProtocolUdp = 17;

struct Ipv4Header {
  static constexpr std::size_t kSize = 20;
  static constexpr std::uint16_t kDontFragment = 0x4000;
  static constexpr std::uint16_t kFragmentMask = 0x3fff;  // "more fragments" and the offset

  std::uint8_t traffic_class{};
  std::uint16_t total_length{};
  std::uint16_t identification{};
  std::uint16_t fragment{kDontFragment};  // flags:3 offset:13
  std::uint8_t hop_limit{};
  std::uint8_t protocol{kProtocolUdp};
  Gid source{};
  Gid destination{};
  friend bool operator==(const Ipv4Header&, const Ipv4Header&) = default;

  [[nodiscard]] bool is_fragment() const { return (fragment & kFragmentMask) != 0; }

  // Returns kBadField for options. The header checksum is not checked: the ICRC is stronger, and a
  // capture from a machine that offloads the checksum does not contain it.
  static Result<Ipv4Header, WireError> decode(Bytes in);
  void encode(std::span<std::byte, kSize> out) const;  // writes the checksum
};

struct Ipv6Header {
  static constexpr std::size_t kSize = 40;

  std::uint8_t traffic_class{};
  std::uint32_t flow_label{};  // 20 bits
  std::uint16_t payload_length{};
  std::uint8_t next_header{kProtocolUdp};
  std::uint8_t hop_limit{};
  Gid source{};
  Gid destination{};
  friend bool operator==(const Ipv6Header&, const Ipv6Header&) = default;

  static Result<Ipv6Header, WireError> decode(Bytes in);
  void encode(std::span<std::byte, kSize> out) const;
};

struct UdpHeader {
  static constexpr std::size_t kSize = 8;

  std::uint16_t source_port{};
  std::uint16_t destination_port{};
  std::uint16_t length{};  // header and payload
  // RoCEv2 senders write zero, "none", because the ICRC covers the packet.
  std::uint16_t checksum{};
  friend bool operator==(const UdpHeader&, const UdpHeader&) = default;

  static Result<UdpHeader, WireError> decode(Bytes in);
  void encode(std::span<std::byte, kSize> out) const;
};

// The Internet checksum (RFC 1071) of an even number of bytes.
[[nodiscard]] std::uint16_t internet_checksum(Bytes in);

}  // namespace nerve::wire
