// The forty bytes in front of a datagram in its receive buffer: for IPv6 the IP header, for IPv4
// twenty zero bytes and the IP header (IBTA annex A17.4.5.1).
#pragma once

#include <array>
#include <cstddef>

#include "wire/frame.h"

namespace nerve::nic {

inline constexpr std::uint32_t kGrhSize = 40;

[[nodiscard]] std::array<std::byte, kGrhSize> grh_of(const wire::Frame& frame);

// The completion of a datagram reports whether it arrived over IPv4 or IPv6 (same annex). Verbs
// have no field for it; adapters use the service level, which is unused on RoCE: 8 for a UDP
// header, plus 1 for IPv6 or 2 for IPv4. UCX drops a datagram without it.
[[nodiscard]] std::uint8_t packet_type_of(const wire::Frame& frame);

}  // namespace nerve::nic
