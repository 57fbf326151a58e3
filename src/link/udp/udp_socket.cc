#include "link/udp/udp_socket.h"

#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace nerve::link {

Result<UdpSocket, SocketError> UdpSocket::make(IpFamily family) {
  const int domain = family == IpFamily::kDual ? AF_INET6 : AF_INET;
  UdpSocket made{::socket(domain, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  if (made.fd() < 0) {
    return Unexpected{socket_error("udp", "socket", errno,
                                   errno == EMFILE ? "raise the limit with ulimit -n" : "")};
  }
  if (family == IpFamily::kDual) {
    if (const int error = made.set(IPPROTO_IPV6, IPV6_V6ONLY, 0); error != 0) {
      return Unexpected{socket_error("udp", "IPV6_V6ONLY", error)};
    }
  }
  return made;
}

int UdpSocket::bind(IpFamily family, std::uint16_t port) const {
  int result = 0;
  if (family == IpFamily::kDual) {
    sockaddr_in6 any{};
    any.sin6_family = AF_INET6;
    any.sin6_port = htons(port);
    result = ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
  } else {
    sockaddr_in any{};
    any.sin_family = AF_INET;
    any.sin_port = htons(port);
    result = ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&any), sizeof any);
  }
  return result == 0 ? 0 : errno;
}

std::uint16_t UdpSocket::bound_port() const {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  if (::getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&name), &size) != 0) return 0;
  sockaddr_in6 six{};
  sockaddr_in four{};
  if (name.ss_family == AF_INET6) {
    std::memcpy(&six, &name, sizeof six);
    return ntohs(six.sin6_port);
  }
  if (name.ss_family != AF_INET) return 0;
  std::memcpy(&four, &name, sizeof four);
  return ntohs(four.sin_port);
}

int UdpSocket::set(int level, int name, int value) const {
  return ::setsockopt(fd_.get(), level, name, &value, sizeof value) == 0 ? 0 : errno;
}

int UdpSocket::get(int level, int name, int otherwise) const {
  int value = 0;
  socklen_t size = sizeof value;
  return ::getsockopt(fd_.get(), level, name, &value, &size) == 0 ? value : otherwise;
}

std::optional<UdpSocket::Fill> UdpSocket::receive_fill() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> info{};
  socklen_t size = sizeof info;
  if (::getsockopt(fd_.get(), SOL_SOCKET, SO_MEMINFO, info.data(), &size) != 0) return std::nullopt;
  return Fill{.used = info[SK_MEMINFO_RMEM_ALLOC], .size = info[SK_MEMINFO_RCVBUF]};
}

int UdpSocket::grow_buffer(int name, int forced_name, int bytes) const {
  // The first option needs CAP_NET_ADMIN; the second is limited by net.core.{r,w}mem_max.
  if (set(SOL_SOCKET, forced_name, bytes) != 0) (void)set(SOL_SOCKET, name, bytes);
  return get(SOL_SOCKET, name, 0);
}

IpFamily machine_family() {
  const auto trial = UdpSocket::make(IpFamily::kDual);
  if (!trial || trial->bind(IpFamily::kDual, 0) != 0) return IpFamily::kIpv4;
  return IpFamily::kDual;
}

}  // namespace nerve::link
