// Counters of an engine since its construction, for diagnosis and tests.
#pragma once

#include <cstdint>

namespace nerve::nic {

struct Counters {
  std::uint64_t frames_received{};
  std::uint64_t frames_sent{};
  std::uint64_t bytes_received{};  // payload
  std::uint64_t bytes_sent{};
  // Among these, what was fetched from late memory and written to it.
  std::uint64_t late_bytes_sent{};
  std::uint64_t late_bytes_received{};
  std::uint64_t late_bytes_copied{};  // between late memories, without packets
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
  std::uint64_t cnps_ignored{};  // among these, the ones that cannot be the peer's
  std::uint64_t ecn_marked_received{};
  std::uint64_t policy_fallbacks{};  // times that Swift took over from a learned policy
  // Datagrams of the communication manager.
  std::uint64_t mads_received{};
  std::uint64_t mads_sent{};
  std::uint64_t mads_retried{};    // retransmitted after a timeout, or in answer to a duplicate
  std::uint64_t mads_duplicate{};  // received again after they had been handled
  std::uint64_t mads_bad{};        // malformed, or not from the peer
  std::uint64_t mads_rejected{};   // answered with a REJ or a negative SIDR_REP
  std::uint64_t mads_dropped{};    // no room for the request or its answer
  // Frames dropped without an answer, by cause.
  std::uint64_t dropped_malformed{};
  std::uint64_t dropped_no_qp{};
  std::uint64_t dropped_wrong_transport{};
  std::uint64_t dropped_bad_state{};
  std::uint64_t dropped_bad_pkey{};
  std::uint64_t dropped_bad_qkey{};
  std::uint64_t dropped_wrong_address{};
  std::uint64_t dropped_no_receive{};  // UD and UC: nothing posted
  std::uint64_t dropped_bad_psn{};     // requests outside any window
  std::uint64_t dropped_bad_msn{};     // responses that do not fit what was sent
  std::uint64_t dropped_barred{};      // UC WRITEs after too many wrong keys

  // Adds the counters of another engine.
  Counters& operator+=(const Counters& other);
};

}  // namespace nerve::nic
