#include "link/udp/send_control.h"

#include <netinet/udp.h>

#include <cstring>

#include "base/check.h"
#include "link/udp/address.h"

namespace nerve::link {
namespace {

constexpr std::uint8_t kDefaultHopLimit = wire::Flow{}.hop_limit;  // set as the sockets' default

}  // namespace

template <class Value>
void SendControl::add(int level, int type, const Value& value) {
  CHECK(size + CMSG_SPACE(sizeof value) <= sizeof bytes);
  const cmsghdr header{.cmsg_len = CMSG_LEN(sizeof value), .cmsg_level = level, .cmsg_type = type};
  std::memcpy(bytes + size, &header, sizeof header);
  std::memcpy(bytes + size + CMSG_LEN(0), &value, sizeof value);
  size += CMSG_SPACE(sizeof value);
}

void SendControl::write(const wire::Flow& flow, std::uint32_t interface, std::uint16_t segment) {
  size = 0;
  const bool ipv4 = flow.destination.is_ipv4();
  if (ipv4) {
    in_pktinfo info{};
    info.ipi_ifindex = static_cast<int>(interface);
    info.ipi_spec_dst = ipv4_of(flow.source);
    add(IPPROTO_IP, IP_PKTINFO, info);
  } else {
    add(IPPROTO_IPV6, IPV6_PKTINFO,
        in6_pktinfo{.ipi6_addr = ipv6_of(flow.source), .ipi6_ifindex = interface});
  }
  if (flow.traffic_class != 0) {
    const int traffic_class = flow.traffic_class;
    add(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TOS : IPV6_TCLASS, traffic_class);
  }
  // The kernel refuses zero, and a packet that must not leave the host still needs one hop.
  if (flow.hop_limit != kDefaultHopLimit) {
    const int hops = flow.hop_limit == 0 ? 1 : flow.hop_limit;
    add(ipv4 ? IPPROTO_IP : IPPROTO_IPV6, ipv4 ? IP_TTL : IPV6_HOPLIMIT, hops);
  }
  if (segment != 0) add(IPPROTO_UDP, UDP_SEGMENT, segment);
}

}  // namespace nerve::link
