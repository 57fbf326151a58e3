// Converts GIDs to and from socket addresses. The IPv4-mapped form of an IPv6 socket is the GID
// itself.
#pragma once

#include <netinet/in.h>

#include <cstring>

#include "link/udp/udp_socket.h"
#include "wire/frame.h"

namespace nerve::link {

[[nodiscard]] inline wire::Gid gid_of(const in6_addr& address) {
  wire::Gid gid;
  std::memcpy(gid.bytes.data(), &address, gid.bytes.size());
  return gid;
}

[[nodiscard]] inline wire::Gid gid_of(const in_addr& address) {
  wire::Gid gid = wire::Gid::ipv4(0, 0, 0, 0);
  std::memcpy(gid.bytes.data() + 12, &address, sizeof address);
  return gid;
}

[[nodiscard]] inline in6_addr ipv6_of(const wire::Gid& gid) {
  in6_addr address;
  std::memcpy(&address, gid.bytes.data(), sizeof address);
  return address;
}

[[nodiscard]] inline in_addr ipv4_of(const wire::Gid& gid) {
  in_addr address;
  std::memcpy(&address, gid.bytes.data() + 12, sizeof address);
  return address;
}

// True if the address is only valid together with an interface.
[[nodiscard]] inline bool needs_interface(const wire::Gid& gid) {
  const bool link_local =
      gid.bytes[0] == std::byte{0xfe} && (gid.bytes[1] & std::byte{0xc0}) == std::byte{0x80};
  return link_local || gid.is_multicast();
}

// A socket address in the form that a socket of this family takes.
struct SocketName {
  union {
    sockaddr_in6 six;
    sockaddr_in four;
  };
  socklen_t size;

  static SocketName of(IpFamily family, const wire::Gid& gid, std::uint16_t port) {
    SocketName name;
    if (family == IpFamily::kDual) {
      name.six = {};
      name.six.sin6_family = AF_INET6;
      name.six.sin6_port = htons(port);
      name.six.sin6_addr = ipv6_of(gid);
      name.size = sizeof name.six;
    } else {
      name.four = {};
      name.four.sin_family = AF_INET;
      name.four.sin_port = htons(port);
      name.four.sin_addr = ipv4_of(gid);
      name.size = sizeof name.four;
    }
    return name;
  }
};

// Sets the source of a flow from the address that recvmsg returned.
inline void read_name(const void* name, wire::Flow& flow) {
  sockaddr_in6 six;
  sockaddr_in four;
  std::memcpy(&four, name, sizeof four);
  if (four.sin_family == AF_INET) {
    flow.source = gid_of(four.sin_addr);
    flow.source_port = ntohs(four.sin_port);
  } else {
    std::memcpy(&six, name, sizeof six);
    flow.source = gid_of(six.sin6_addr);
    flow.source_port = ntohs(six.sin6_port);
  }
}

}  // namespace nerve::link
