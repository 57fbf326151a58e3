// Stream sockets with deadlines, and messages over them: four bytes of length, then the contents.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "ai/error.h"
#include "ai/socket_calls.h"
#include "ai/waiting.h"
#include "base/bytes.h"

namespace nerve::ai {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd, const SocketCalls& calls = tcp_sockets()) : fd_{fd}, calls_{&calls} {}
  Descriptor(Descriptor&& from) noexcept : fd_{std::exchange(from.fd_, -1)}, calls_{from.calls_} {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    close();
    fd_ = std::exchange(from.fd_, -1);
    calls_ = from.calls_;
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { close(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool open() const { return fd_ >= 0; }
  [[nodiscard]] const SocketCalls& calls() const { return *calls_; }
  void close();

 private:
  int fd_{-1};
  const SocketCalls* calls_{&tcp_sockets()};
};

struct Address {
  std::string host;
  std::uint16_t port{};

  [[nodiscard]] std::string text() const { return host + ":" + std::to_string(port); }
};

inline constexpr std::size_t kLongestMessage = 1U << 16;

// "host:port" or "[v6]:port".
Result<Address, Error> parse_address(const std::string& text);
// Port 0: any free port; port_of() returns it.
Result<Descriptor, Error> listen_at(const Address& address,
                                    const SocketCalls& calls = tcp_sockets());
std::uint16_t port_of(const Descriptor& listener);
// The local address of a connected socket, without its port.
std::string local_host_of(const Descriptor& socket);
// Repeats refused attempts until the deadline: the peer may still be starting.
Result<Descriptor, Error> connect_to(const Address& address, const Patience& patience,
                                     const SocketCalls& calls = tcp_sockets());
// A connection that waits, or an invalid descriptor.
Descriptor accept_waiting(const Descriptor& listener);

Status send_message(const Descriptor& socket, Bytes message, const Patience& patience);
Result<std::vector<std::byte>, Error> receive_message(const Descriptor& socket,
                                                      const Patience& patience);

// Collects a message whose bytes arrive over time, without blocking.
class PartialMessage {
 public:
  enum class State { kMore, kComplete, kClosed, kTooLong };
  State read_from(const Descriptor& socket);
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t got_{};
  std::byte length_[4]{};
  std::size_t length_got_{};
};

}  // namespace nerve::ai
