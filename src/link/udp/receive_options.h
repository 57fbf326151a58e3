// Socket options that make the kernel report everything about a packet that the ICRC covers or the
// engine needs, and the parsing of the control messages that report it.
#pragma once

#include <sys/socket.h>

#include "link/udp/udp_socket.h"
#include "wire/frame.h"

namespace nerve::link {

// Settings that may be refused by the kernel.
struct ReceiveWishes {
  int buffer{kWantedBuffer};
  bool coalescing{true};  // UDP_GRO
};

// Options belong to the socket, not to the process: the process that creates it sets them.
void set_receive_options(const UdpSocket& socket, IpFamily family);
// The process that reads the socket may set these again.
void set_receive_wishes(const UdpSocket& socket, const ReceiveWishes& wishes);

// Room for all control messages that those options produce.
inline constexpr std::size_t kReceiveControlSize = 192;

struct ReceivedFrom {
  wire::Flow flow{};
  std::uint32_t segment{};  // bytes of each packet of a coalesced train; zero: a single packet
};

// Parses a msghdr that recvmmsg has filled; its name is a sockaddr_in6 or sockaddr_in.
[[nodiscard]] ReceivedFrom read_origin(msghdr& message);

}  // namespace nerve::link
