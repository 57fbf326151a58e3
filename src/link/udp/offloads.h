// Which offloads the kernel provides for the UDP link, and the reasons for those it does not.
#pragma once

#include <string>

#include "link/udp/udp_socket.h"

namespace nerve::link {

struct Offload {
  bool works{};
  std::string reason;  // why it does not work, and what to do
};

struct Offloads {
  Offload segmentation;        // UDP_SEGMENT: a train is sent in one call
  Offload receive_coalescing;  // UDP_GRO: a train is received in one call
  Offload ipv6;
  int send_buffer{};  // bytes, as the kernel counts them
  int receive_buffer{};
};

// Tries them on its own sockets over loopback, for `nerve doctor`. `buffer` is the size to request
// for each socket.
[[nodiscard]] Offloads probe_offloads(int buffer = kWantedBuffer);

}  // namespace nerve::link
