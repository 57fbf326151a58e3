// IP addresses with ports, as the programs of rdma_cm speak of them, and the devices behind them.
#pragma once

#include <netinet/in.h>

#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "wire/gid.h"

namespace nerve::rdmacm {

// An IPv4 address is the mapped GID here as everywhere; "any" of IPv4 is the mapped zero.
struct Endpoint {
  wire::Gid address{};
  std::uint16_t port{};
  std::uint32_t scope{};  // the interface of a link-local address
  friend bool operator==(const Endpoint&, const Endpoint&) = default;

  [[nodiscard]] bool is_any() const;
  [[nodiscard]] bool is_loopback() const;
};

// Nothing for a family other than IPv4 and IPv6, or too few bytes for it.
[[nodiscard]] std::optional<Endpoint> read_address(Bytes sockaddr);
// The errno for one that was not read: a family that Linux would know is not supported, any other
// makes no sense.
[[nodiscard]] int why_no_address(Bytes sockaddr);
// As a sockaddr_in or sockaddr_in6. Returns its size.
std::uint16_t write_address(const Endpoint& endpoint, sockaddr_in6& out);

// From where this machine would speak to `to`. Zero or errno.
[[nodiscard]] int find_source(const Endpoint& to, Endpoint& from);

}  // namespace nerve::rdmacm
