// The RDMA IP CM Service (IBTA vol. 1, annex A11): how rdma_cm carries IP addresses and ports in
// the private data of a REQ or SIDR_REQ, and ports in the service id.
//
//    0        major version:4  minor version:4
//    1        IP version:4  reserved:4
//    2..3     source port
//    4..19    source address; an IPv4 one in the last four bytes
//   20..35    destination address
//
// The application's own private data follows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/cm_codes.h"
#include "wire/gid.h"
#include "wire/wire_error.h"

namespace nerve::wire {

// Addresses are GIDs, as in the rest of the engine: an IPv4 address is ::ffff:a.b.c.d in memory and
// is written to the wire with zeros before it, as the standard requires. Both ends have the same IP
// version.
struct IpCmHeader {
  static constexpr std::size_t kSize = 36;

  std::uint16_t source_port{};
  Gid source{};
  Gid destination{};

  // Returns kBadField for a version that the annex does not describe, and for a mapped IPv4 address
  // marked as IPv6.
  static Result<IpCmHeader, WireError> decode(Bytes in);
  void encode(std::span<std::byte, kSize> out) const;
  friend bool operator==(const IpCmHeader&, const IpCmHeader&) = default;
};

// The IP protocol number in a service ID. TCP and UDP ports are independent of each other.
enum class PortSpace : std::uint8_t { kTcp = 0x06, kUdp = 0x11 };

struct IpService {
  PortSpace space{};
  std::uint16_t port{};
  friend bool operator==(const IpService&, const IpService&) = default;
};

[[nodiscard]] constexpr ServiceId service_id(IpService service) {
  return ServiceId{0x0100'0000U | static_cast<std::uint64_t>(service.space) << 16U | service.port};
}
// nullopt for a service ID outside this annex.
[[nodiscard]] constexpr std::optional<IpService> ip_service(ServiceId id) {
  const auto number = static_cast<std::uint64_t>(id);
  if (number >> 24U != 1) return std::nullopt;
  return IpService{static_cast<PortSpace>(number >> 16U & 0xffU),
                   static_cast<std::uint16_t>(number & 0xffffU)};
}

}  // namespace nerve::wire
