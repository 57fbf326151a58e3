// The sockets from which a process sends: one for each UDP source port, up to a limit.
//
// The source port of a flow is the entropy by which switches and receiving NICs spread QPs, and a
// UDP socket sends from the port it is bound to. So each requested port gets a socket of its own,
// bound to that port if it is free; beyond the limit, ports share sockets. The ICRC covers the
// port, so the sender has to ask for the real one.
//
// None of these sockets receives anything: a filter drops all packets sent to them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "link/udp/udp_socket.h"

namespace nerve::link {

struct SendSocket {
  int fd{-1};
  std::uint16_t port{};  // the source port in the packets
};

class SendSockets {
 public:
  static constexpr std::size_t kMaxSockets = 256;

  // Opens one socket at once, so that a machine that cannot send fails here.
  static Result<SendSockets, SocketError> open(IpFamily family, std::size_t limit,
                                               int buffer = kWantedBuffer);

  [[nodiscard]] SendSocket for_port(std::uint16_t wanted);
  [[nodiscard]] const UdpSocket& first() const { return entries_.front().socket; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool has(std::uint16_t port) const;

 private:
  struct Entry {
    UdpSocket socket;
    std::uint16_t wanted{};
    std::uint16_t bound{};
  };
  [[nodiscard]] static Result<Entry, SocketError> make(IpFamily family, std::uint16_t wanted,
                                                       int buffer);
  [[nodiscard]] std::size_t index_for(std::uint16_t wanted);

  std::vector<Entry> entries_;
  std::size_t limit_{};
  IpFamily family_{};
  int buffer_{};
  bool first_is_free_{true};  // no port was requested yet
};

}  // namespace nerve::link
