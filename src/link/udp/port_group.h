// RoCEv2's UDP port, shared by the processes of one user on a host.
//
// A group is K sockets bound to one port; the kernel hands each packet to one of them by the
// destination QP in its BTH, whose bits 14 and up name the process (see docs/link-udp.md). The
// first process creates the group, later ones adopt its descriptors, which somebody passes them
// over a unix socket. Every process holds all K, so that none of them closes and the indexes stay
// when a process dies; each reads only its own.
//
// QPN 1, management, names no process. It has a socket of its own, after the K: whoever has to do
// with management reads it, and passes on what is another's.
#pragma once

#include <cstdint>
#include <vector>

#include "link/udp/receive_options.h"
#include "link/udp/udp_socket.h"
#include "wire/frame.h"

namespace nerve::link {

struct PortGroupConfig {
  std::uint16_t port{wire::kRocePort};
  std::uint32_t sockets{16};  // a power of two
  bool management{};          // one more, for QPN 1; then K is 2 at least
  bool ipv6{true};            // false: IPv4 alone, even where there is IPv6
  ReceiveWishes wishes{};
};

class PortGroup {
 public:
  // How far to shift a QPN right for the number of its process.
  static constexpr unsigned kQpnShift = 14;
  static constexpr std::uint32_t kMaxSockets = 1024;  // all that 24 - 14 bits can tell apart

  // EADDRINUSE when another process has the port: ours (adopt its sockets) or a stranger.
  static Result<PortGroup, SocketError> create(const PortGroupConfig& config);

  // Takes over descriptors that another process made with create(), in its order. They are closed
  // here if it fails.
  static Result<PortGroup, SocketError> adopt(const std::vector<int>& fds, std::uint16_t port);

  // One more socket at the port. It gets only packets of the multicast groups that it joins, each
  // socket its own copy. It is no part of the group: whoever closes it changes nothing for others.
  [[nodiscard]] Result<UdpSocket, SocketError> make_multicast_socket(
      const ReceiveWishes& wishes) const;

  [[nodiscard]] std::vector<int> fds() const;
  [[nodiscard]] std::uint32_t size() const { return steered_; }  // K
  [[nodiscard]] bool has_management() const { return sockets_.size() > steered_; }
  [[nodiscard]] const UdpSocket& socket(std::uint32_t index) const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] IpFamily family() const { return family_; }
  // Which socket gets what is sent to this QP.
  [[nodiscard]] std::uint32_t index_of(Qpn qpn) const;

 private:
  PortGroup() = default;

  std::vector<UdpSocket> sockets_;
  std::uint32_t steered_{};  // of them; the one after these is management's
  std::uint16_t port_{};
  IpFamily family_{};
};

}  // namespace nerve::link
