// The completer: handles responses and completes the requests that wait for them.
//
// A response with PSN p acknowledges every packet before p. A READ or atomic completes only when
// its own data has arrived, so a response beyond a missing one reveals a loss just as a NAK does
// ("implied NAK", IBTA 9.7.5.2).
#pragma once

#include "base/time.h"
#include "nic/counters.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/ethernet/port.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/qp_context/scheduler.h"
#include "nic/wqe_engine/completion_unit.h"
#include "nic/wqe_engine/requester.h"
#include "wire/frame.h"
#include "wire/selective_nak.h"

namespace nerve::nic {

class Completer {
 public:
  Completer(Core& core, const Port& port, CompletionUnit& completions, Requester& requester)
      : core_{core}, port_{port}, completions_{completions}, requester_{requester} {}

  // Handles a response packet for a QP of a reliable type.
  void on_response(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);
  void on_cnp(Qp& qp);

  // Handles the QP's timer: retransmission, end of an RNR wait, pacing, congestion control.
  void on_timer(Qp& qp);

 private:
  void on_acknowledge(Qp& qp, const wire::Frame& frame);
  void on_rnr(Qp& qp, std::uint8_t code);
  void on_sequence_nak(Qp& qp);
  // Ultra Ethernet: learns from an answer. True if there is nothing else in it.
  bool on_ultra_ethernet(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame);
  // Tells congestion control what has arrived.
  void inform(Qp& qp, const AckSample& sample);
  void inform(Qp& qp, UltraEthernet& ultra, const Scoreboard::Fresh& fresh,
              const wire::Frame& frame);
  void on_selective_nak(Qp& qp, const wire::PsnRun& arrived, const wire::Frame& frame);
  void on_data(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info);
  void place_read(Qp& qp, SendWqe& wqe, const wire::Frame& frame);
  void place_atomic(Qp& qp, SendWqe& wqe, const wire::Frame& frame);

  // Whether an AETH has an MSN that the peer can have sent.
  [[nodiscard]] static bool fits(Qp& qp, std::uint32_t msn);
  // The same for an answer that is about to acknowledge something. If it is the first one and does
  // not fit, the peer does not count as we do, and its MSNs are not checked.
  bool accepts_msn(Qp& qp, std::uint32_t msn);
  // An answer with this MSN has acknowledged what was in the send queue before its present head.
  static void learn_msn(Qp& qp, std::uint32_t head_before, std::uint32_t msn);
  void drop_answer() { ++core_.counters.dropped_bad_msn; }
  // An ACK that acknowledges nothing new.
  void note_late_credits(Qp& qp, const wire::Aeth& aeth);

  // Acknowledges everything before `end`. Returns false when a READ or atomic before it is
  // unanswered.
  bool acknowledge(Qp& qp, Psn end);
  // On new acknowledgements, restores the retry counters and restarts the timer.
  void note_progress(Qp& qp, const wire::Frame& frame);
  void note_credits(Qp& qp, const wire::Aeth& aeth);
  // Handles response data that is ahead of the data expected next.
  void on_response_gap(Qp& qp, const wire::Frame& frame);
  // Adapts the window; called once for each loss, before retransmission.
  void note_loss(Qp& qp);
  void note_retransmit(Qp& qp, Psn from, TraceCause why) const {
    if (core_.trace != nullptr) [[unlikely]]
      trace_retransmit(*core_.trace, qp, from, why);
  }
  // A response was lost: requests it again, once for each loss.
  void implied_nak(Qp& qp, const wire::Frame& frame);
  // Retransmits from the oldest unacknowledged packet, or fails the QP when no retry is left.
  void retry(Qp& qp, TraceCause why);
  void restart_timer(Qp& qp);
  void settle(Qp& qp);

  // Selective repeat. A missing packet counts as lost when a packet more than `tolerance` PSNs
  // ahead of it has arrived.
  void detect_losses(Qp& qp, std::uint32_t tolerance);
  void begin_recovery(Qp& qp);
  // Starts retransmitting at the next packet that counts as lost and was not retransmitted yet, if
  // any.
  void resend_lost(Qp& qp);
  void note_selective_progress(Qp& qp, Psn before);
  void on_selective_timeout(Qp& qp);
  void on_reorder_timeout(Qp& qp);

  // Tail probes.
  void on_probe_timer(Qp& qp);
  void probe_again(Qp& qp);
  // Selective repeat: retransmits every packet that counts as lost and is still missing. Returns
  // false when there is none.
  bool resend_unconfirmed(Qp& qp);

  Core& core_;
  const Port& port_;
  CompletionUnit& completions_;
  Requester& requester_;
};

}  // namespace nerve::nic
