// Timeouts of the communication manager (IBTA 12.7.1 defines the exponents of 4.096 us).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace nerve::nic {

// A peer may choose any of 32 exponents, up to two and a half hours. Its value occupies an entry of
// our table, so it is limited to 68 s.
constexpr Duration cm_time(std::uint8_t exponent) {
  constexpr unsigned kLongest = 24;
  return Duration{4'096'000} * (std::int64_t{1} << std::min<unsigned>(exponent, kLongest));
}

// The ACK timeout is twice the packet lifetime plus the peer's delay: the lifetime of late packets
// of a connection. Soft-RoCE's 17 is half a second; values above 21, 9 s, are limited.
constexpr Duration ack_time(std::uint8_t exponent) {
  return cm_time(std::min<std::uint8_t>(exponent, 21));
}
// The default when the path does not specify it.
inline constexpr std::uint8_t kUsualAckTimeout = 17;

// The standard has the sender wait for the whole response timeout, seconds, before it retransmits a
// lost datagram. An early first copy costs a slow peer one extra datagram.
inline constexpr Duration kFirstRepeat{std::chrono::milliseconds{100}};

// The retry interval when there was no listener (NicConfig::refusal_patience).
inline constexpr Duration kRefusedRepeat{std::chrono::milliseconds{10}};

}  // namespace nerve::nic
