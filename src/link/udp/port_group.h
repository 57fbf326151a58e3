// RoCEv2's UDP port, shared by the processes of one user on a host.
//
// A group is K sockets bound to one port. The kernel passes each packet to one of them according to
// the destination QP in its BTH, whose bits 14 and up identify the process (docs/link-udp.md). The
// first process creates the group; later ones adopt its descriptors, received over a unix socket.
// Every process holds all K, so that none is closed and the indexes stay the same when a process
// dies; each process reads only its own.
//
// QPN 1, management, identifies no process. It has a socket of its own, after the K: every process
// that uses the CM reads it, and forwards datagrams for others.
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
  bool management{};          // one more socket, for QPN 1; K must be at least 2 then
  bool ipv6{true};            // false: IPv4 only, even if there is IPv6
  ReceiveWishes wishes{};
};

class PortGroup {
 public:
  // The process number is a QPN shifted right by this.
  static constexpr unsigned kQpnShift = 14;
  static constexpr std::uint32_t kMaxSockets = 1024;  // as many as 24 - 14 bits distinguish

  // EADDRINUSE if another process has the port: one of ours (adopt its sockets) or a foreign one.
  static Result<PortGroup, SocketError> create(const PortGroupConfig& config);

  // Takes over descriptors that another process made with create(), in its order. Closes them on
  // failure.
  static Result<PortGroup, SocketError> adopt(const std::vector<int>& fds, std::uint16_t port);

  // Makes a group of sockets that were bound for us by a process that knows nothing of QPNs, all
  // with SO_REUSEPORT, in the order of their indexes. Closes them on failure.
  static Result<PortGroup, SocketError> form(const std::vector<int>& fds, std::uint16_t port,
                                             const ReceiveWishes& wishes);

  // Creates one more socket at the port. It receives only packets of the multicast groups that it
  // joins, and each such socket gets its own copy. It is not part of the group, so closing it does
  // not affect other processes.
  [[nodiscard]] Result<UdpSocket, SocketError> make_multicast_socket(
      const ReceiveWishes& wishes) const;

  [[nodiscard]] std::vector<int> fds() const;
  [[nodiscard]] std::uint32_t size() const { return steered_; }  // K
  [[nodiscard]] bool has_management() const { return sockets_.size() > steered_; }
  [[nodiscard]] const UdpSocket& socket(std::uint32_t index) const;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] IpFamily family() const { return family_; }
  // The socket that receives packets for this QP.
  [[nodiscard]] std::uint32_t index_of(Qpn qpn) const;

 private:
  PortGroup() = default;

  std::vector<UdpSocket> sockets_;
  std::uint32_t steered_{};  // K; the management socket comes after these
  std::uint16_t port_{};
  IpFamily family_{};
};

}  // namespace nerve::link
