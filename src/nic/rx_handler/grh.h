// The forty octets that stand before a datagram in its receive: for IPv6 the IP header, for IPv4
// twenty zeros and the IP header (IBTA annex A17.4.5.1).
#pragma once

#include <array>
#include <cstddef>

#include "wire/frame.h"

namespace nerve::nic {

inline constexpr std::uint32_t kGrhSize = 40;

[[nodiscard]] std::array<std::byte, kGrhSize> grh_of(const wire::Frame& frame);

}  // namespace nerve::nic
