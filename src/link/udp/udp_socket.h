// An owned UDP socket.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "link/descriptor.h"
#include "link/udp/socket_error.h"

namespace nerve::link {

enum class IpFamily : std::uint8_t {
  kDual,  // an IPv6 socket that also handles IPv4, as ::ffff:a.b.c.d
  kIpv4,  // for a machine without IPv6
};

// The requested buffer size: large, because it must hold what arrives between two reads of a busy
// receiver.
inline constexpr int kWantedBuffer = 16 << 20;

class UdpSocket {
 public:
  UdpSocket() = default;
  explicit UdpSocket(int fd) : fd_{fd} {}

  // Non-blocking and close-on-exec.
  static Result<UdpSocket, SocketError> make(IpFamily family);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // Gives up ownership; the caller closes it.
  [[nodiscard]] int release() { return fd_.release(); }
  // Binds to the wildcard address; port 0 lets the kernel choose. Returns zero or errno.
  [[nodiscard]] int bind(IpFamily family, std::uint16_t port) const;
  // Zero if it is not bound.
  [[nodiscard]] std::uint16_t bound_port() const;
  // Returns zero or errno.
  [[nodiscard]] int set(int level, int name, int value) const;
  [[nodiscard]] int get(int level, int name, int otherwise) const;
  // How full the receive buffer is, in bytes as the kernel charges them. Nothing before Linux 4.12.
  struct Fill {
    std::uint32_t used{};
    std::uint32_t size{};
  };
  [[nodiscard]] std::optional<Fill> receive_fill() const;
  // Sets as much of `bytes` as this machine allows; returns the size that the kernel reports then.
  [[nodiscard]] int grow_buffer(int name, int forced_name, int bytes) const;

 private:
  Descriptor fd_;
};

// kDual, unless sockets of that family cannot be created here.
[[nodiscard]] IpFamily machine_family();

}  // namespace nerve::link
