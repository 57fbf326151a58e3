#include "nic/counters.h"

namespace nerve::nic {

Counters& Counters::operator+=(const Counters& other) {
  frames_received += other.frames_received;
  frames_sent += other.frames_sent;
  bytes_received += other.bytes_received;
  bytes_sent += other.bytes_sent;
  late_bytes_sent += other.late_bytes_sent;
  late_bytes_received += other.late_bytes_received;
  late_bytes_copied += other.late_bytes_copied;
  retransmitted_frames += other.retransmitted_frames;
  timeouts += other.timeouts;
  tail_probes_sent += other.tail_probes_sent;
  rnr_naks_sent += other.rnr_naks_sent;
  rnr_naks_received += other.rnr_naks_received;
  sequence_naks_sent += other.sequence_naks_sent;
  sequence_naks_received += other.sequence_naks_received;
  selective_naks_sent += other.selective_naks_sent;
  selective_naks_received += other.selective_naks_received;
  error_naks_sent += other.error_naks_sent;
  error_naks_received += other.error_naks_received;
  duplicates_received += other.duplicates_received;
  out_of_order_received += other.out_of_order_received;
  implied_naks += other.implied_naks;
  cnps_sent += other.cnps_sent;
  cnps_received += other.cnps_received;
  cnps_ignored += other.cnps_ignored;
  ecn_marked_received += other.ecn_marked_received;
  policy_fallbacks += other.policy_fallbacks;
  mads_received += other.mads_received;
  mads_sent += other.mads_sent;
  mads_retried += other.mads_retried;
  mads_duplicate += other.mads_duplicate;
  mads_bad += other.mads_bad;
  mads_rejected += other.mads_rejected;
  mads_dropped += other.mads_dropped;
  dropped_malformed += other.dropped_malformed;
  dropped_no_qp += other.dropped_no_qp;
  dropped_wrong_transport += other.dropped_wrong_transport;
  dropped_bad_state += other.dropped_bad_state;
  dropped_bad_pkey += other.dropped_bad_pkey;
  dropped_bad_qkey += other.dropped_bad_qkey;
  dropped_wrong_address += other.dropped_wrong_address;
  dropped_no_receive += other.dropped_no_receive;
  dropped_bad_psn += other.dropped_bad_psn;
  dropped_bad_msn += other.dropped_bad_msn;
  dropped_barred += other.dropped_barred;
  static_assert(sizeof(Counters) == 44 * sizeof(std::uint64_t), "a counter is missing above");
  return *this;
}

}  // namespace nerve::nic
