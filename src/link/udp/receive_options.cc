#include "link/udp/receive_options.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cstring>

#include "link/udp/address.h"

namespace nerve::link {
namespace {

// Defined in <linux/in6.h>, which conflicts with <netinet/in.h>.
constexpr int kIpv6Flowinfo = 11;
constexpr int kIpv6MulticastAll = 29;

template <class Value>
Value value_of(const cmsghdr& header) {
  Value value{};
  const std::size_t has = header.cmsg_len - CMSG_LEN(0);
  std::memcpy(&value, CMSG_DATA(&header), std::min(sizeof value, has));
  return value;
}

void read_ipv4(const cmsghdr& header, wire::Flow& flow) {
  switch (header.cmsg_type) {
    case IP_PKTINFO:
      flow.destination = gid_of(value_of<in_pktinfo>(header).ipi_addr);
      break;
    case IP_TOS:
      flow.traffic_class = value_of<std::uint8_t>(header);
      break;
    case IP_TTL:
      flow.hop_limit = static_cast<std::uint8_t>(value_of<int>(header));
      break;
    default:
      break;
  }
}

void read_ipv6(const cmsghdr& header, wire::Flow& flow) {
  switch (header.cmsg_type) {
    case IPV6_PKTINFO:
      flow.destination = gid_of(value_of<in6_pktinfo>(header).ipi6_addr);
      break;
    case IPV6_TCLASS:
      flow.traffic_class = static_cast<std::uint8_t>(value_of<int>(header));
      break;
    case IPV6_HOPLIMIT:
      flow.hop_limit = static_cast<std::uint8_t>(value_of<int>(header));
      break;
    case kIpv6Flowinfo:
      flow.flow_label = ntohl(value_of<std::uint32_t>(header)) & 0xf'ffffU;
      break;
    default:
      break;
  }
}

}  // namespace

void set_receive_options(const UdpSocket& socket, IpFamily family) {
  (void)socket.set(IPPROTO_IP, IP_RECVTOS, 1);
  (void)socket.set(IPPROTO_IP, IP_RECVTTL, 1);
  // Otherwise every socket on the port receives the groups that any of them has joined.
  (void)socket.set(IPPROTO_IP, IP_MULTICAST_ALL, 0);
  if (family == IpFamily::kIpv4) {
    (void)socket.set(IPPROTO_IP, IP_PKTINFO, 1);
    return;
  }
  (void)socket.set(IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);  // reports IPv4 destinations too
  (void)socket.set(IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  (void)socket.set(IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  (void)socket.set(IPPROTO_IPV6, kIpv6Flowinfo, 1);
  (void)socket.set(IPPROTO_IPV6, kIpv6MulticastAll, 0);
  // RoCEv2 senders write no UDP checksum, which an IPv6 socket accepts only with this option.
  (void)socket.set(IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

void set_receive_wishes(const UdpSocket& socket, const ReceiveWishes& wishes) {
  (void)socket.grow_buffer(SO_RCVBUF, SO_RCVBUFFORCE, wishes.buffer);
  (void)socket.set(IPPROTO_UDP, UDP_GRO, wishes.coalescing ? 1 : 0);
}

ReceivedFrom read_origin(msghdr& message) {
  ReceivedFrom from;
  from.flow.hop_limit = 0;
  read_name(message.msg_name, from.flow);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level == IPPROTO_IP) read_ipv4(*header, from.flow);
    if (header->cmsg_level == IPPROTO_IPV6) read_ipv6(*header, from.flow);
    if (header->cmsg_level == IPPROTO_UDP && header->cmsg_type == UDP_GRO) {
      from.segment = static_cast<std::uint32_t>(std::max(value_of<int>(*header), 0));
    }
  }
  return from;
}

}  // namespace nerve::link
