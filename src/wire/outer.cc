#include "wire/outer.h"

#include "base/check.h"

namespace nerve::wire {

std::size_t encode_outer(const Flow& flow, const Envelope& envelope, std::size_t udp_payload,
                         MutableBytes out) {
  const std::size_t ip = ip_size(flow);
  CHECK(ip + UdpHeader::kSize + udp_payload <= kMaxIpLength);
  const auto udp_length = static_cast<std::uint16_t>(UdpHeader::kSize + udp_payload);
  if (ip == Ipv4Header::kSize) {
    Ipv4Header{.traffic_class = flow.traffic_class,
               .total_length = static_cast<std::uint16_t>(ip + udp_length),
               .identification = envelope.identification,
               .fragment = envelope.fragment,
               .hop_limit = flow.hop_limit,
               .source = flow.source,
               .destination = flow.destination}
        .encode(out.first<Ipv4Header::kSize>());
  } else {
    Ipv6Header{.traffic_class = flow.traffic_class,
               .flow_label = flow.flow_label,
               .payload_length = udp_length,
               .hop_limit = flow.hop_limit,
               .source = flow.source,
               .destination = flow.destination}
        .encode(out.first<Ipv6Header::kSize>());
  }
  UdpHeader{.source_port = flow.source_port,
            .destination_port = envelope.destination_port,
            .length = udp_length,
            .checksum = envelope.udp_checksum}
      .encode(out.subspan(ip).first<UdpHeader::kSize>());
  return ip + UdpHeader::kSize;
}

OuterSum::OuterSum(const Flow& flow, std::size_t udp_payload, std::uint16_t to_port)
    : covered_{static_cast<std::uint32_t>(udp_payload - kIcrcSize)},
      ipv4_{flow.destination.is_ipv4()} {
  CHECK(udp_payload >= kIcrcSize);
  std::array<std::byte, kMaxOuterSize> outer;
  const std::size_t size = encode_outer(flow, {.destination_port = to_port}, udp_payload, outer);
  zero_ = icrc_outer(Bytes{outer}.first(size));
}

std::optional<std::uint16_t> OuterSum::solve(std::uint16_t guess, std::uint32_t difference) {
  if (!ipv4_) return std::nullopt;
  if (!back_) back_.emplace(covered_, kCrc32Back);
  const std::uint32_t at_udp = (*back_)(difference);
  auto bits = kIdentification.solve(at_udp);
  if (!bits) bits = kIdentification.solve(at_udp ^ kFragment(Ipv4Header::kDontFragment));
  if (!bits) return std::nullopt;
  return static_cast<std::uint16_t>(guess ^ *bits);
}

}  // namespace nerve::wire
