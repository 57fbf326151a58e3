#include "wire/ip.h"

#include <algorithm>

namespace nerve::wire {
namespace {

constexpr unsigned kVersion4WithoutOptions = 0x45;
constexpr std::uint64_t kVersion6 = 6;
constexpr std::uint32_t kFlowLabelMask = 0xf'ffff;

std::uint8_t load8(Bytes in, std::size_t at) { return static_cast<std::uint8_t>(in[at]); }
std::uint16_t load16(Bytes in, std::size_t at) {
  return static_cast<std::uint16_t>(load_be<2>(in, at));
}
Gid load_ipv4(Bytes in, std::size_t at) {
  return Gid::ipv4(load8(in, at), load8(in, at + 1), load8(in, at + 2), load8(in, at + 3));
}
Gid load_ipv6(Bytes in, std::size_t at) {
  Gid gid;
  std::copy_n(in.begin() + static_cast<std::ptrdiff_t>(at), gid.bytes.size(), gid.bytes.begin());
  return gid;
}

}  // namespace

Result<Ipv4Header, WireError> Ipv4Header::decode(Bytes in) {
  if (in.size() < kSize) return Unexpected{WireError::kTruncated};
  if (load8(in, 0) != kVersion4WithoutOptions) return Unexpected{WireError::kBadField};
  return Ipv4Header{
      .traffic_class = load8(in, 1),
      .total_length = load16(in, 2),
      .identification = load16(in, 4),
      .fragment = load16(in, 6),
      .hop_limit = load8(in, 8),
      .protocol = load8(in, 9),
      .source = load_ipv4(in, 12),
      .destination = load_ipv4(in, 16),
  };
}

void Ipv4Header::encode(std::span<std::byte, kSize> out) const {
  out[0] = std::byte{kVersion4WithoutOptions};
  out[1] = std::byte{traffic_class};
  store_be<2>(out, 2, total_length);
  store_be<2>(out, 4, identification);
  store_be<2>(out, 6, fragment);
  out[8] = std::byte{hop_limit};
  out[9] = std::byte{protocol};
  store_be<2>(out, 10, 0);
  std::copy_n(source.bytes.begin() + 12, 4, out.begin() + 12);
  std::copy_n(destination.bytes.begin() + 12, 4, out.begin() + 16);
  store_be<2>(out, 10, internet_checksum(out));
}

Result<Ipv6Header, WireError> Ipv6Header::decode(Bytes in) {
  if (in.size() < kSize) return Unexpected{WireError::kTruncated};
  const std::uint64_t word = load_be<4>(in, 0);
  if (word >> 28U != kVersion6) return Unexpected{WireError::kBadField};
  return Ipv6Header{
      .traffic_class = static_cast<std::uint8_t>(word >> 20U & 0xffU),
      .flow_label = static_cast<std::uint32_t>(word & kFlowLabelMask),
      .payload_length = load16(in, 4),
      .next_header = load8(in, 6),
      .hop_limit = load8(in, 7),
      .source = load_ipv6(in, 8),
      .destination = load_ipv6(in, 24),
  };
}

void Ipv6Header::encode(std::span<std::byte, kSize> out) const {
  store_be<4>(
      out, 0,
      kVersion6 << 28U | std::uint64_t{traffic_class} << 20U | (flow_label & kFlowLabelMask));
  store_be<2>(out, 4, payload_length);
  out[6] = std::byte{next_header};
  out[7] = std::byte{hop_limit};
  std::copy(source.bytes.begin(), source.bytes.end(), out.begin() + 8);
  std::copy(destination.bytes.begin(), destination.bytes.end(), out.begin() + 24);
}

Result<UdpHeader, WireError> UdpHeader::decode(Bytes in) {
  if (in.size() < kSize) return Unexpected{WireError::kTruncated};
  return UdpHeader{.source_port = load16(in, 0),
                   .destination_port = load16(in, 2),
                   .length = load16(in, 4),
                   .checksum = load16(in, 6)};
}

void UdpHeader::encode(std::span<std::byte, kSize> out) const {
  store_be<2>(out, 0, source_port);
  store_be<2>(out, 2, destination_port);
  store_be<2>(out, 4, length);
  store_be<2>(out, 6, checksum);
}

std::uint16_t internet_checksum(Bytes in) {
  CHECK(in.size() % 2 == 0);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < in.size(); at += 2) sum += load_be<2>(in, at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16U);
  return static_cast<std::uint16_t>(~sum);
}

}  // namespace nerve::wire
