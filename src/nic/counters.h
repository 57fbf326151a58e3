// What the engine counts, for people and for tests. All are since construction.
#pragma once

#include <cstdint>

namespace nerve::nic {

struct Counters {
  std::uint64_t frames_received{};
  std::uint64_t frames_sent{};
  std::uint64_t octets_received{};  // payload
  std::uint64_t octets_sent{};
  std::uint64_t retransmitted_frames{};
  std::uint64_t timeouts{};
  std::uint64_t rnr_naks_sent{};
  std::uint64_t rnr_naks_received{};
  std::uint64_t sequence_naks_sent{};
  std::uint64_t sequence_naks_received{};
  std::uint64_t error_naks_sent{};
  std::uint64_t error_naks_received{};
  std::uint64_t duplicates_received{};
  std::uint64_t out_of_order_received{};
  std::uint64_t implied_naks{};
  std::uint64_t cnps_sent{};
  std::uint64_t cnps_received{};
  std::uint64_t ecn_marked_received{};
  // Frames dropped without an answer, by cause.
  std::uint64_t dropped_malformed{};
  std::uint64_t dropped_no_qp{};
  std::uint64_t dropped_wrong_transport{};
  std::uint64_t dropped_bad_state{};
  std::uint64_t dropped_bad_pkey{};
  std::uint64_t dropped_bad_qkey{};
  std::uint64_t dropped_wrong_address{};
  std::uint64_t dropped_no_receive{};  // UD and UC: nothing posted

  // Of several engines together.
  Counters& operator+=(const Counters& other);
};

}  // namespace nerve::nic
