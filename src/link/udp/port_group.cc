#include "link/udp/port_group.h"

#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <array>
#include <bit>
#include <cerrno>
#include <string>

#include "base/check.h"

namespace nerve::link {
namespace {

constexpr std::uint32_t kMulticastQpn = 0xff'ffff;
constexpr std::uint32_t kManagementQpn = 1;

std::string name_of(std::uint16_t port) { return "udp port " + std::to_string(port); }

// The BPF program sees the UDP payload, for both IP versions: the low 24 bits of its second word
// are the BTH's destination QP. A packet that is too short goes to socket 0, where it is counted.
int steer_by_qpn(const UdpSocket& socket, std::uint32_t sockets, std::uint32_t management) {
  std::array<sock_filter, 9> code{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, Qpn::kMask),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kMulticastQpn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kManagementQpn, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, management),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, PortGroup::kQpnShift),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, sockets - 1),
      BPF_STMT(BPF_RET | BPF_A, 0),
  }};
  const sock_fprog program{.len = static_cast<unsigned short>(code.size()), .filter = code.data()};
  const int result =
      ::setsockopt(socket.fd(), SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program);
  return result == 0 ? 0 : errno;
}

SocketError bind_error(std::uint16_t port, int code) {
  std::string advice;
  if (code == EADDRINUSE) advice = "another program uses it; `ss -ulnp` shows which";
  if (code == EACCES) advice = "ports below 1024 need privilege";
  return socket_error(name_of(port), "bind", code, advice);
}

}  // namespace

Result<PortGroup, SocketError> PortGroup::create(const PortGroupConfig& config) {
  if (!std::has_single_bit(config.sockets) || config.sockets > kMaxSockets ||
      (config.management && config.sockets == 1)) {
    return Unexpected{
        SocketError{EINVAL, name_of(config.port) + ": " + std::to_string(config.sockets) +
                                " sockets; their number must be a power of two up to " +
                                std::to_string(kMaxSockets)}};
  }
  PortGroup group;
  group.port_ = config.port;
  group.steered_ = config.sockets;
  group.family_ = config.ipv6 ? machine_family() : IpFamily::kIpv4;
  for (std::uint32_t i = 0; i < config.sockets + (config.management ? 1 : 0); ++i) {
    auto made = UdpSocket::make(group.family_);
    if (!made) return Unexpected{made.error()};
    // The first socket binds without SO_REUSEPORT, so that only one process can create the group.
    // It is set afterwards, which lets the other sockets bind; they get their indexes in this
    // order.
    const bool first = i == 0;
    if (!first) (void)made->set(SOL_SOCKET, SO_REUSEPORT, 1);
    if (const int error = made->bind(group.family_, group.port_); error != 0) {
      return Unexpected{bind_error(group.port_, error)};
    }
    if (first) {
      (void)made->set(SOL_SOCKET, SO_REUSEPORT, 1);
      group.port_ = made->bound_port();  // chosen by the kernel if config.port is 0
    }
    set_receive_options(*made, group.family_);
    set_receive_wishes(*made, config.wishes);
    group.sockets_.push_back(*std::move(made));
  }
  if (config.sockets == 1) return group;  // the kernel does not treat a single socket as a group
  const int error = steer_by_qpn(group.sockets_.front(), config.sockets, group.index_of(Qpn{1}));
  if (error != 0) {
    return Unexpected{socket_error(name_of(group.port_), "SO_ATTACH_REUSEPORT_CBPF", error,
                                   "the kernel must be 4.5 or newer")};
  }
  return group;
}

Result<PortGroup, SocketError> PortGroup::adopt(const std::vector<int>& fds, std::uint16_t port) {
  PortGroup group;
  group.port_ = port;
  for (const int fd : fds) group.sockets_.emplace_back(fd);
  const auto refuse = [&](const std::string& why) {
    return Unexpected{SocketError{EINVAL, name_of(port) + ": adopted sockets: " + why}};
  };
  const bool management = fds.size() > 2 && fds.size() % 2 == 1;
  const std::size_t steered = fds.size() - (management ? 1 : 0);
  if (!std::has_single_bit(steered) || steered > kMaxSockets) {
    return refuse(std::to_string(fds.size()) + " of them; expected a power of two, or one more");
  }
  group.steered_ = static_cast<std::uint32_t>(steered);
  const int domain = group.sockets_.front().get(SOL_SOCKET, SO_DOMAIN, -1);
  group.family_ = domain == AF_INET6 ? IpFamily::kDual : IpFamily::kIpv4;
  for (std::size_t i = 0; i < group.sockets_.size(); ++i) {
    const UdpSocket& socket = group.sockets_[i];
    if (socket.get(SOL_SOCKET, SO_PROTOCOL, -1) != IPPROTO_UDP ||
        socket.get(SOL_SOCKET, SO_DOMAIN, -1) != domain || socket.bound_port() != port) {
      return refuse("socket " + std::to_string(i) + " is not a udp socket on that port");
    }
  }
  return group;
}

Result<PortGroup, SocketError> PortGroup::form(const std::vector<int>& fds, std::uint16_t port,
                                               const ReceiveWishes& wishes) {
  auto group = adopt(fds, port);
  if (!group) return group;
  const auto refuse = [&](const char* call, int code, const char* advice) {
    return Unexpected{socket_error(name_of(port), call, code, advice)};
  };
  for (const UdpSocket& socket : group->sockets_) {
    if (socket.get(SOL_SOCKET, SO_REUSEPORT, 0) == 0) {
      return refuse("SO_REUSEPORT", EINVAL, "bind all sockets that are passed with it");
    }
    set_receive_options(socket, group->family_);
    set_receive_wishes(socket, wishes);
  }
  const int error = steer_by_qpn(group->sockets_.front(), group->steered_, group->index_of(Qpn{1}));
  if (error != 0) return refuse("SO_ATTACH_REUSEPORT_CBPF", error, "bind them in one group");
  return group;
}

Result<UdpSocket, SocketError> PortGroup::make_multicast_socket(const ReceiveWishes& wishes) const {
  auto made = UdpSocket::make(family_);
  if (!made) return Unexpected{made.error()};
  // It comes after the others in the kernel's group, so no packet is steered to it.
  (void)made->set(SOL_SOCKET, SO_REUSEPORT, 1);
  if (const int error = made->bind(family_, port_); error != 0) {
    return Unexpected{bind_error(port_, error)};
  }
  set_receive_options(*made, family_);
  set_receive_wishes(*made, wishes);
  return made;
}

std::vector<int> PortGroup::fds() const {
  std::vector<int> fds;
  for (const UdpSocket& socket : sockets_) fds.push_back(socket.fd());
  return fds;
}

const UdpSocket& PortGroup::socket(std::uint32_t index) const {
  CHECK(index < sockets_.size());
  return sockets_[index];
}

std::uint32_t PortGroup::index_of(Qpn qpn) const {
  if (qpn.value() == kMulticastQpn) return 0;
  if (qpn.value() == kManagementQpn && has_management()) return steered_;
  return qpn.value() >> kQpnShift & (size() - 1);
}

}  // namespace nerve::link
