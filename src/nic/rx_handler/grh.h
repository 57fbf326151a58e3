// The forty bytes that stand before a datagram in its receive: for IPv6 the IP header, for IPv4
// twenty zeros and the IP header (IBTA annex A17.4.5.1).
#pragma once

#include <array>
#include <cstddef>

#include "wire/frame.h"

namespace nerve::nic {

inline constexpr std::uint32_t kGrhSize = 40;

[[nodiscard]] std::array<std::byte, kGrhSize> grh_of(const wire::Frame& frame);

// The completion of a datagram tells whether it came with IPv4 or IPv6 (the same annex). Verbs have
// no place for it, and adapters use the service level, which RoCE leaves free: 8 for a UDP header,
// and 1 for IPv6 or 2 for IPv4. UCX drops a datagram without it.
[[nodiscard]] std::uint8_t packet_type_of(const wire::Frame& frame);

}  // namespace nerve::nic
