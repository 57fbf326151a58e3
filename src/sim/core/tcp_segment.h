// What a TCP header says, as values: sequence numbers that do not wrap, times in picoseconds. It
// lies in a packet where an engine's frame would.
#pragma once

#include <array>
#include <cstdint>

namespace nerve::sim {

inline constexpr std::uint32_t kIpAndTcp = 20 + 20 + 12;  // with timestamps

// Bytes of a stream, from `begin` up to `end`.
struct TcpRange {
  std::uint64_t begin;
  std::uint64_t end;
};

struct TcpSegment {
  static constexpr std::size_t kMostRanges = 3;  // as many as fit beside timestamps (RFC 2018)

  std::uint64_t first;                       // of the bytes that it carries
  std::uint64_t acknowledged;                // all before it have come
  std::uint64_t allowed;                     // the receiver has room for all before it
  std::uint64_t marked;                      // bytes that have come with a congestion mark, in all
  std::uint64_t stamp;                       // when it was sent
  std::uint64_t echo;                        // the stamp of what it acknowledges; zero: none
  std::array<TcpRange, kMostRanges> ranges;  // what has come out of order
  std::uint32_t connection;                  // at the receiver
  std::uint32_t length;
  std::uint8_t range_count;
};

}  // namespace nerve::sim
