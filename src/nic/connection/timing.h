// How long things take (IBTA 12.7.1 has the exponents of 4.096 us).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "base/time.h"

namespace nerve::nic {

// A peer may name any of 32 exponents, up to two and a half hours. What it names holds a place in
// our table, so we wait as if it had named at most 68 s.
constexpr Duration cm_time(std::uint8_t exponent) {
  constexpr unsigned kLongest = 24;
  return Duration{4'096'000} * (std::int64_t{1} << std::min<unsigned>(exponent, kLongest));
}

// The acknowledgement timeout is twice the packet life and the peer's delay: what late packets of
// a connection may take. Soft-RoCE's 17 is half a second; more than 21, 9 s, nobody needs.
constexpr Duration ack_time(std::uint8_t exponent) {
  return cm_time(std::min<std::uint8_t>(exponent, 21));
}
// Where no path tells it.
inline constexpr std::uint8_t kUsualAckTimeout = 17;

// The standard's sender waits for the whole response timeout, seconds, before it repeats a
// datagram that was lost. A first copy after this costs a slow peer one datagram.
inline constexpr Duration kFirstRepeat{std::chrono::milliseconds{100}};

// ... and after this it asks again where nobody listened (NicConfig::refusal_patience).
inline constexpr Duration kRefusedRepeat{std::chrono::milliseconds{10}};

}  // namespace nerve::nic
