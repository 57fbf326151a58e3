// What the engine counts, for people and for tests. All are since construction.
#pragma once

#include <cstdint>

namespace nerve::nic {

struct Counters {
  std::uint64_t frames_received{};
  std::uint64_t frames_sent{};
  std::uint64_t bytes_received{};  // payload
  std::uint64_t bytes_sent{};
  std::uint64_t retransmitted_frames{};
  std::uint64_t timeouts{};
  std::uint64_t tail_probes_sent{};  // among retransmitted_frames
  std::uint64_t rnr_naks_sent{};
  std::uint64_t rnr_naks_received{};
  std::uint64_t sequence_naks_sent{};
  std::uint64_t sequence_naks_received{};
  std::uint64_t selective_naks_sent{};
  std::uint64_t selective_naks_received{};
  std::uint64_t error_naks_sent{};
  std::uint64_t error_naks_received{};
  std::uint64_t duplicates_received{};
  std::uint64_t out_of_order_received{};
  std::uint64_t implied_naks{};
  std::uint64_t cnps_sent{};
  std::uint64_t cnps_received{};
  std::uint64_t ecn_marked_received{};
  // The communication manager's datagrams.
  std::uint64_t mads_received{};
  std::uint64_t mads_sent{};
  std::uint64_t mads_retried{};    // said again, because nobody answered or the peer asked again
  std::uint64_t mads_duplicate{};  // received for what had been done
  std::uint64_t mads_bad{};        // no message, or not from the peer
  std::uint64_t mads_rejected{};   // answered with a REJ, or a SIDR_REP that says no
  std::uint64_t mads_dropped{};    // no room for the request, or for its answer
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
