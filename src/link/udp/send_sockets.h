// The sockets from which a process sends: one for each UDP source port, up to a limit.
//
// The source port of a flow is the entropy by which switches and receiving NICs spread QPs, and a
// UDP socket sends from the port it is bound to. So each requested port gets a socket of its own,
// bound to that port if it is free; beyond the limit, ports share sockets. The ICRC covers the
// port, so the sender has to ask for the real one.
//
// A flow may get another port while it runs, so ports come and go. At the limit, a new port takes
// the place of the one that has been idle for longest, if that is at least kIdle. Sockets that have
// been idle for kForgotten are closed, because others may want their ports. A socket used at a time
// is neither replaced nor closed at that time: its messages may still be collected. The kernel
// sends what it has accepted also when the socket is closed.
//
// Ports are not shared with other processes (SO_REUSEPORT): a server on such a port would lose the
// datagrams that the kernel gives to us.
//
// None of these sockets receives anything: a filter drops all packets sent to them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "link/udp/udp_socket.h"

namespace nerve::link {

struct SendSocket {
  int fd{-1};
  std::uint16_t port{};  // the source port in the packets
};

class SendSockets {
 public:
  static constexpr std::size_t kMaxSockets = 256;
  static constexpr Duration kIdle = std::chrono::milliseconds{100};
  static constexpr Duration kForgotten = std::chrono::seconds{5};

  // Opens one socket at once, so that a machine that cannot send fails here.
  static Result<SendSockets, SocketError> open(IpFamily family, std::size_t limit,
                                               int buffer = kWantedBuffer);

  [[nodiscard]] SendSocket for_port(std::uint16_t wanted, Time now);
  // The port that for_port() would return, as far as that is known before a socket is made.
  [[nodiscard]] std::uint16_t port_for(std::uint16_t wanted, Time now) const;
  [[nodiscard]] const UdpSocket& first() const { return entries_.front().socket; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] bool has(std::uint16_t port) const;

 private:
  struct Entry {
    UdpSocket socket;
    std::uint16_t wanted{};
    std::uint16_t bound{};
    Time used{};
  };
  [[nodiscard]] Result<Entry, SocketError> make(std::uint16_t wanted) const;
  [[nodiscard]] std::size_t index_for(std::uint16_t wanted, Time now);
  void close_forgotten(Time now);
  // Where a new port may be: a place that is not used yet, or that of an idle port.
  [[nodiscard]] std::optional<std::size_t> place(Time now) const;

  std::vector<Entry> entries_;
  std::size_t limit_{};
  IpFamily family_{};
  int buffer_{};
  Time looked_at_{};          // for forgotten sockets
  bool first_is_free_{true};  // no port was requested yet
};

}  // namespace nerve::link
