// What the kernel does for the UDP link on this machine, and why not where it does not.
#pragma once

#include <string>

#include "link/udp/udp_socket.h"

namespace nerve::link {

struct Offload {
  bool works{};
  std::string reason;  // why it does not work, and what to do
};

struct Offloads {
  Offload segmentation;        // UDP_SEGMENT: a train leaves in one call
  Offload receive_coalescing;  // UDP_GRO: a train arrives in one call
  Offload ipv6;
  int send_buffer{};  // bytes, as the kernel counts them
  int receive_buffer{};
};

// Tries them on sockets of its own over loopback, for the doctor.
// `buffer`: what to ask for, for each socket.
[[nodiscard]] Offloads probe_offloads(int buffer = kWantedBuffer);

}  // namespace nerve::link
