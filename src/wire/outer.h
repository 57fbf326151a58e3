// The IP and UDP headers around a packet: their bytes, and their contribution to the ICRC.
//
// The kernel writes these headers for a socket, but the ICRC covers them, so both ends must know
// their contents. All packets of one flow and size have the same headers, except for the IPv4
// identification; OuterSum holds their CRC, computed once for a whole train.
#pragma once

#include <array>
#include <optional>

#include "base/bytes.h"
#include "wire/crc32_shift.h"
#include "wire/frame.h"
#include "wire/icrc.h"
#include "wire/ip.h"

namespace nerve::wire {

// The contents of a packet that a frame does not determine. The defaults are those of a sender:
// what Linux writes for an unconnected UDP socket with path MTU discovery.
struct Envelope {
  std::uint16_t identification{};                     // IPv4
  std::uint16_t fragment{Ipv4Header::kDontFragment};  // IPv4: only that flag
  std::uint16_t destination_port{kRocePort};          // differs only where both ends agree on it
  std::uint16_t udp_checksum{};                       // none
  std::array<std::byte, 3> pad{};  // zero by default; the ICRC covers them in any case
  friend bool operator==(const Envelope&, const Envelope&) = default;
};

inline constexpr std::size_t kMaxOuterSize = Ipv6Header::kSize + UdpHeader::kSize;
inline constexpr std::size_t kMaxIpLength = 0xffff;
// The payload that fits behind the outer headers of both IP versions. IPv6 sockets can deliver
// more.
inline constexpr std::size_t kMaxUdpPayload = kMaxIpLength - kMaxOuterSize;

[[nodiscard]] constexpr std::size_t ip_size(const Flow& flow) {
  return flow.destination.is_ipv4() ? Ipv4Header::kSize : Ipv6Header::kSize;
}

// Writes the IP and UDP headers of a packet with `udp_payload` bytes after them; returns their
// size.
std::size_t encode_outer(const Flow& flow, const Envelope& envelope, std::size_t udp_payload,
                         MutableBytes out);

// The ICRC register after the outer headers of the packets of one flow and size.
class OuterSum {
 public:
  OuterSum() = default;
  // `udp_payload` is kIcrcSize to kMaxUdpPayload bytes, sent to `to_port`.
  OuterSum(const Flow& flow, std::size_t udp_payload, std::uint16_t to_port = kRocePort);

  [[nodiscard]] std::uint32_t operator()(std::uint16_t identification) const {
    return ipv4_ ? zero_ ^ kIdentification(identification) : zero_;
  }
  // For a socket that does not expose the identification: finds the one that, in the place of
  // `guess`, explains a received ICRC which differs by `difference`. The "don't fragment" flag is
  // hidden too, so both values are tried. One in 32 768 wrong ICRCs is explained by chance.
  [[nodiscard]] std::optional<std::uint16_t> solve(std::uint16_t guess, std::uint32_t difference);

 private:
  // The positions of both fields, counted from the end of the UDP header.
  static constexpr Crc32Field16 kIdentification{kAfterIpv4Identification};
  static constexpr Crc32Field16 kFragment{kAfterIpv4Identification - 2};

  std::uint32_t zero_{};     // with identification zero
  std::uint32_t covered_{};  // bytes that the ICRC covers after the outer headers
  bool ipv4_{};
  std::optional<Crc32Shift> back_;  // over those bytes; computed when first needed
};

}  // namespace nerve::wire
