// A UDP socket that we own: made, bound, given options, closed.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "link/descriptor.h"
#include "link/udp/socket_error.h"

namespace nerve::link {

enum class IpFamily : std::uint8_t {
  kDual,  // an IPv6 socket that speaks IPv4 too, under ::ffff:a.b.c.d
  kIpv4,  // where the machine has no IPv6
};

// As much as the kernel lets us ask for; a busy receiver must bridge the time between two reads.
inline constexpr int kWantedBuffer = 16 << 20;

class UdpSocket {
 public:
  UdpSocket() = default;
  explicit UdpSocket(int fd) : fd_{fd} {}

  // Non-blocking and closed by exec.
  static Result<UdpSocket, SocketError> make(IpFamily family);

  [[nodiscard]] int fd() const { return fd_.get(); }
  // To the wildcard address; port 0 lets the kernel choose. Zero or errno.
  [[nodiscard]] int bind(IpFamily family, std::uint16_t port) const;
  // Zero when it is not bound.
  [[nodiscard]] std::uint16_t bound_port() const;
  // Zero or errno.
  [[nodiscard]] int set(int level, int name, int value) const;
  [[nodiscard]] int get(int level, int name, int otherwise) const;
  // How full the receive buffer is, in bytes as the kernel charges them. Nothing before Linux 4.12.
  struct Fill {
    std::uint32_t used{};
    std::uint32_t size{};
  };
  [[nodiscard]] std::optional<Fill> receive_fill() const;
  // As much of `bytes` as this machine allows; tells what the kernel then says it has.
  [[nodiscard]] int grow_buffer(int name, int forced_name, int bytes) const;

 private:
  Descriptor fd_;
};

// kDual unless sockets of that family cannot be made here.
[[nodiscard]] IpFamily machine_family();

}  // namespace nerve::link
