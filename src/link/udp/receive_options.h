// What a socket must be told so that it tells us everything about a packet that the ICRC covers or
// the engine wants, and what it told: the control messages of a received datagram.
#pragma once

#include <sys/socket.h>

#include "link/udp/udp_socket.h"
#include "wire/frame.h"

namespace nerve::link {

// What may be had one way or the other.
struct ReceiveWishes {
  int buffer{kWantedBuffer};
  bool coalescing{true};  // UDP_GRO
};

// Options live in the socket, not in the process: they are set by the process that makes it.
void set_receive_options(const UdpSocket& socket, IpFamily family);
// These may be set again by the process that reads it.
void set_receive_wishes(const UdpSocket& socket, const ReceiveWishes& wishes);

// Room for every control message that those options bring.
inline constexpr std::size_t kReceiveControlSize = 192;

struct ReceivedFrom {
  wire::Flow flow{};
  std::uint32_t segment{};  // bytes of each packet of a coalesced train; zero: one packet
};

// From a msghdr that recvmmsg has filled; its name is a sockaddr_in6 or sockaddr_in.
[[nodiscard]] ReceivedFrom read_origin(msghdr& message);

}  // namespace nerve::link
