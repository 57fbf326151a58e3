#include "wire/ip_cm.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::wire {
namespace {

constexpr std::size_t kSourceAt = 4, kDestinationAt = 20;
constexpr unsigned kIpv4 = 4, kIpv6 = 6;

Gid read_address(Bytes in, std::size_t at, unsigned version) {
  Gid gid;
  std::ranges::copy(in.subspan(at, gid.bytes.size()), gid.bytes.begin());
  if (version == kIpv6) return gid;
  // The bytes before an IPv4 address are not part of it, so they need not be zero.
  return Gid::ipv4(
      static_cast<std::uint8_t>(gid.bytes[12]), static_cast<std::uint8_t>(gid.bytes[13]),
      static_cast<std::uint8_t>(gid.bytes[14]), static_cast<std::uint8_t>(gid.bytes[15]));
}

void write_address(MutableBytes out, std::size_t at, const Gid& gid) {
  std::ranges::copy(gid.bytes, out.subspan(at).begin());
  if (gid.is_ipv4()) std::ranges::fill(out.subspan(at, 12), std::byte{0});
}

}  // namespace

Result<IpCmHeader, WireError> IpCmHeader::decode(Bytes in) {
  if (in.size() < kSize) return Unexpected{WireError::kTruncated};
  const unsigned version = static_cast<unsigned>(in[1]) >> 4U;
  if (in[0] != std::byte{0} || (version != kIpv4 && version != kIpv6)) {
    return Unexpected{WireError::kBadField};
  }
  const IpCmHeader header{
      .source_port = static_cast<std::uint16_t>(load_be<2>(in, 2)),
      .source = read_address(in, kSourceAt, version),
      .destination = read_address(in, kDestinationAt, version),
  };
  // A mapped IPv4 address is not valid as an IPv6 address on the wire, and would be encoded as
  // IPv4.
  if (version == kIpv6 && (header.source.is_ipv4() || header.destination.is_ipv4())) {
    return Unexpected{WireError::kBadField};
  }
  return header;
}

void IpCmHeader::encode(std::span<std::byte, kSize> out) const {
  CHECK(source.is_ipv4() == destination.is_ipv4());
  out[0] = std::byte{0};
  out[1] = static_cast<std::byte>((source.is_ipv4() ? kIpv4 : kIpv6) << 4U);
  store_be<2>(out, 2, source_port);
  write_address(out, kSourceAt, source);
  write_address(out, kDestinationAt, destination);
}

}  // namespace nerve::wire
