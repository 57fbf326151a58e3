#include "rdmacm/address.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "host/peers/mapping.h"

namespace nerve::rdmacm {
namespace {

constexpr std::size_t kIpv4At = 12;  // in a mapped address

template <class Address>
Address copied(Bytes from) {
  Address address{};
  std::memcpy(&address, from.data(), sizeof address);
  return address;
}

}  // namespace

bool Endpoint::is_any() const {
  return address.is_zero() || address == wire::Gid::ipv4(0, 0, 0, 0);
}

bool Endpoint::is_loopback() const {
  if (address.is_ipv4()) return address.bytes[kIpv4At] == std::byte{127};
  wire::Gid loopback;
  loopback.bytes[15] = std::byte{1};
  return address == loopback;
}

std::optional<Endpoint> read_address(Bytes in) {
  if (in.size() < sizeof(sa_family_t)) return std::nullopt;
  Endpoint endpoint;
  switch (copied<sa_family_t>(in)) {
    case AF_INET: {
      if (in.size() < sizeof(sockaddr_in)) return std::nullopt;
      const auto from = copied<sockaddr_in>(in);
      endpoint.address = wire::Gid::ipv4(0, 0, 0, 0);
      std::memcpy(&endpoint.address.bytes[kIpv4At], &from.sin_addr, sizeof from.sin_addr);
      endpoint.port = ntohs(from.sin_port);
      return endpoint;
    }
    case AF_INET6: {
      if (in.size() < sizeof(sockaddr_in6)) return std::nullopt;
      const auto from = copied<sockaddr_in6>(in);
      std::memcpy(endpoint.address.bytes.data(), &from.sin6_addr, sizeof from.sin6_addr);
      endpoint.port = ntohs(from.sin6_port);
      endpoint.scope = from.sin6_scope_id;
      return endpoint;
    }
    default:
      return std::nullopt;
  }
}

int why_no_address(Bytes in) {
  constexpr sa_family_t kInfiniband = 27;  // AF_IB
  const bool infiniband =
      in.size() >= sizeof(sa_family_t) && copied<sa_family_t>(in) == kInfiniband;
  return infiniband ? EAFNOSUPPORT : EINVAL;
}

std::uint16_t write_address(const Endpoint& endpoint, sockaddr_in6& out) {
  out = {};
  if (endpoint.address.is_ipv4()) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(endpoint.port);
    std::memcpy(&to.sin_addr, &endpoint.address.bytes[kIpv4At], sizeof to.sin_addr);
    std::memcpy(&out, &to, sizeof to);
    return sizeof to;
  }
  out.sin6_family = AF_INET6;
  out.sin6_port = htons(endpoint.port);
  std::memcpy(&out.sin6_addr, endpoint.address.bytes.data(), sizeof out.sin6_addr);
  out.sin6_scope_id = endpoint.scope;
  return sizeof out;
}

int find_source(const Endpoint& to, Endpoint& from) {
  const int family = to.address.is_ipv4() ? AF_INET : AF_INET6;
  const host::Descriptor socket{::socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
  if (!socket) return errno;
  // connect() makes the kernel look up the route and choose a source address; nothing is sent.
  Endpoint there = to;
  there.port = std::max<std::uint16_t>(there.port, 1);
  sockaddr_in6 name{};
  socklen_t size = write_address(there, name);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&name), size) != 0) return errno;
  name = {};
  size = sizeof name;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return errno;
  const auto found = read_address({reinterpret_cast<const std::byte*>(&name), sizeof name});
  if (!found) return EAFNOSUPPORT;
  from.address = found->address;
  from.scope = found->scope;
  return 0;
}

}  // namespace nerve::rdmacm
