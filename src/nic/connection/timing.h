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

// A connection is half open from our REP until its RTU. Its REQ may be forged: then nobody answers
// the REP, which goes to a host that has not asked for it. So neither the time that it takes up an
// entry (and the program a QP) nor the number of copies is the sender's to choose. The time is that
// of a sender with the usual timeouts, 20 and 17 with 15 retries.
inline constexpr Duration kHalfOpenTime = 16 * (cm_time(20) + ack_time(kUsualAckTimeout));  // 77 s
inline constexpr std::uint8_t kReplyRepeats = 5;

// When a host is short of QPs, a half-open connection that is older than this gives way to a new
// request. An honest peer has confirmed by then, even if two REPs were lost.
inline constexpr Duration kReplyGrace{std::chrono::seconds{1}};

// The number of times that a peer is asked whether it still has a connection, after a request that
// says it has not. The first copy is repeated after kFirstRepeat, then after twice that time ...
inline constexpr std::uint8_t kChallenges = 5;

// Messages that match nothing, and may be guesses: so many at once, and one per interval after
// that, are answered or looked up.
inline constexpr std::uint32_t kUnmatchedBurst = 4096;
inline constexpr Duration kUnmatchedInterval = Duration{std::chrono::seconds{1}} / kUnmatchedBurst;

// The retry interval when there was no listener (NicConfig::refusal_patience).
inline constexpr Duration kRefusedRepeat{std::chrono::milliseconds{10}};

}  // namespace nerve::nic
