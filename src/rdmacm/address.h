// IP endpoints of rdma_cm, and their conversion to and from socket addresses.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/gid.h"

namespace nerve::rdmacm {

// An IP address with a port. An IPv4 address is the mapped GID, here as
// everywhere; the IPv4 wildcard is the mapped zero.
struct Endpoint {
  wire::Gid address{};
  std::uint16_t port{};
  std::uint32_t scope{};  // the interface of a link-local address
  friend bool operator==(const Endpoint&, const Endpoint&) = default;

  [[nodiscard]] bool is_any() const;
  [[nodiscard]] bool is_loopback() const;
};

// Nothing for a family other than IPv4 and IPv6, or if there are too few bytes for it.
[[nodiscard]] std::optional<Endpoint> read_address(Bytes sockaddr);
// The errno for an address that was not read: EAFNOSUPPORT for AF_IB, which Linux supports, EINVAL
// for others.
[[nodiscard]] int why_no_address(Bytes sockaddr);
// Writes a sockaddr_in or sockaddr_in6. Returns its size.
std::uint16_t write_address(const Endpoint& endpoint, sockaddr_in6& out);

// The source address that this machine would use for `to`. Returns zero or errno.
[[nodiscard]] int find_source(const Endpoint& to, Endpoint& from);

}  // namespace nerve::rdmacm
