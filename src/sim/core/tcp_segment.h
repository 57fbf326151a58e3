// A TCP header as values: sequence numbers that do not wrap, times in picoseconds. It takes the
// place of an engine's frame in a packet.
#pragma once

#include <array>
#include <cstdint>

namespace nerve::sim {

inline constexpr std::uint32_t kIpAndTcp = 20 + 20 + 12;  // with the timestamp option

// The bytes [begin, end) of a stream.
struct TcpRange {
  std::uint64_t begin;
  std::uint64_t end;
};

struct TcpSegment {
  static constexpr std::size_t kMostRanges = 3;  // what fits beside timestamps (RFC 2018)

  std::uint64_t first;                       // sequence number of the first byte carried
  std::uint64_t acknowledged;                // all bytes before it have arrived
  std::uint64_t allowed;                     // end of the receive window
  std::uint64_t marked;                      // total bytes received with a congestion mark
  std::uint64_t stamp;                       // when it was sent
  std::uint64_t echo;                        // the stamp of the acknowledged segment; zero: none
  std::array<TcpRange, kMostRanges> ranges;  // received out of order (SACK)
  std::uint32_t connection;                  // index at the receiver
  std::uint32_t length;
  std::uint8_t range_count;
};

}  // namespace nerve::sim
