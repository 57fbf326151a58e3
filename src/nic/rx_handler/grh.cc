#include "nic/rx_handler/grh.h"

#include <span>

#include "wire/ip.h"
#include "wire/packet.h"

namespace nerve::nic {

std::array<std::byte, kGrhSize> grh_of(const wire::Frame& frame) {
  std::array<std::byte, kGrhSize> grh{};
  const std::span<std::byte, kGrhSize> out{grh};
  const std::size_t size = wire::packet_size(frame);
  if (frame.flow.destination.is_ipv4()) {
    const wire::Ipv4Header header{.traffic_class = frame.flow.traffic_class,
                                  .total_length = static_cast<std::uint16_t>(size),
                                  .hop_limit = frame.flow.hop_limit,
                                  .source = frame.flow.source,
                                  .destination = frame.flow.destination};
    header.encode(out.last<wire::Ipv4Header::kSize>());
  } else {
    const wire::Ipv6Header header{
        .traffic_class = frame.flow.traffic_class,
        .flow_label = frame.flow.flow_label,
        .payload_length = static_cast<std::uint16_t>(size - wire::Ipv6Header::kSize),
        .hop_limit = frame.flow.hop_limit,
        .source = frame.flow.source,
        .destination = frame.flow.destination};
    header.encode(out);
  }
  return grh;
}

std::uint8_t packet_type_of(const wire::Frame& frame) {
  constexpr std::uint8_t kUdpIpv6 = 8 | 1;
  constexpr std::uint8_t kUdpIpv4 = 8 | 2;
  return frame.flow.destination.is_ipv4() ? kUdpIpv4 : kUdpIpv6;
}

}  // namespace nerve::nic
