// A filter in the kernel: which packets a socket of a port group takes.
//
// A packet for a process that does not exist costs the reader of its socket about a microsecond;
// and in a socket that nobody reads, it takes memory of the kernel's. The filter drops it before it
// is queued. The kernel counts it with those for which there was no room.
#pragma once

#include <cstdint>
#include <span>

#include "link/udp/udp_socket.h"

namespace nerve::link {

enum class MulticastQpn : std::uint8_t { kDrop, kTake };

// Takes packets for the QPs of these processes (PortGroup::kQpnShift), at most kMostProcesses of
// them, and those for QPN 0xffffff if asked. Replaces the socket's filter. Returns zero or errno.
inline constexpr std::size_t kMostProcesses = 128;
[[nodiscard]] int take_only(const UdpSocket& socket, std::span<const std::uint32_t> processes,
                            MulticastQpn multicast);

}  // namespace nerve::link
