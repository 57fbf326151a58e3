// Ensures that a QP which only an answer can unblock has requested one.
//
// At the end of a turn the requester sets the ACK request bit if only an answer can unblock the QP.
// But a QP that expects another turn, or the pacer's next slot, may become blocked before that: the
// program stops the send queue, a window shrinks, a key of the next request is invalidated. Then
// the last packet has left without an ACK request. The peer would stay silent until the retry timer
// expires, and a QP without retries would fail although nothing was lost.
//
// Therefore the last packet is sent again with an ACK request. It is a duplicate, which every
// responder acknowledges (IBTA 9.7.5.1). If its memory is no longer accessible, an earlier packet
// serves as well; if that of none is, the oldest request fails. The duplicate obeys the QP's rate:
// it is sent in the pacer's next slot.
#include "base/planted.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

// Selective repeat without negotiation has short timers of its own, which retransmit without
// counting as a retry.
bool Requester::ack_is_requested(const Qp& qp) const {
  const RequesterState& state = qp.requester;
  return state.since_ack_request == 0 || state.unacked == state.next ||
         (qp.selective && !qp.offers_selective);
}

void Requester::resend_last(Qp& qp, TxBurst& burst) {
  if (planted(Bug::kForgetAckRequest)) return;
  RequesterState& state = qp.requester;
  if (paced(qp) && !qp.pacer.may_send(core_.now)) {
    state.pace_at = qp.pacer.next_send();
    return;
  }
  std::uint32_t position = qp.sends.cursor;
  for (std::uint32_t back = 1; back <= psn_span(state.unacked, state.next); ++back) {
    const Psn psn = state.next + (0x100'0000U - back);
    const auto sent_from = [&](const SendWqe& wqe) {
      return wqe.started && psn_span(wqe.first_psn, psn) < wqe.packets;
    };
    while (!sent_from(qp.sends.at(position))) --position;

    // A request that is answered by data is repeated from its first packet.
    const SendWqe& wqe = qp.sends.at(position);
    const bool whole = wqe.wants_response() && in_flight(state, wqe.first_psn);

    wire::Frame& frame = burst.add();
    if (build(qp, position, whole ? wqe.first_psn : psn, burst) == WcStatus::kSuccess) {
      frame.headers.bth.ack_request = true;
      note_sent(qp, frame, /*again=*/true);
      state.since_ack_request = 0;
      return;
    }
    // Its memory is no longer accessible. Any duplicate makes the peer report its progress.
    burst.drop_last();
  }
  // No outstanding packet could be sent again.
  completions_.fail_send(qp, WcStatus::kLocalProtection);
}

SendWait Requester::waits_for(Qp& qp) const {
  const RequesterState& state = qp.requester;
  if (core_.scheduler.is_parked(qp)) return SendWait::kPath;
  if (state.rnr_until) return SendWait::kRnrTimer;
  if (state.pace_at) return SendWait::kPacer;
  if (qp.sends.all_sent()) {
    return state.unacked == state.sent_end ? SendWait::kProgram : SendWait::kAnswer;
  }
  if (state.probing || !window_open(qp)) return SendWait::kAnswer;
  const SendWqe& wqe = qp.sends.current();
  if (wqe.fault != WcStatus::kSuccess) return SendWait::kAnswer;
  if (qp.state == QpState::kSqd && !wqe.started) return SendWait::kProgram;
  if (wqe.is_local()) return local_must_wait(qp, wqe) ? SendWait::kAnswer : SendWait::kNothing;
  const bool at_start = !wqe.started || state.next == wqe.first_psn;
  if (at_start && !may_begin(qp, wqe)) return SendWait::kAnswer;
  if (paced(qp) && !qp.pacer.may_send(core_.now)) return SendWait::kPacer;
  if (core_.scheduler.awaits_memory(qp) && qp.landing->fetching) return SendWait::kMemory;
  return SendWait::kNothing;
}

SendProgress Requester::progress(Qp& qp) const {
  return {.unacknowledged = psn_span(qp.requester.unacked, qp.requester.next),
          .ack_requested = ack_is_requested(qp),
          .waits_for = waits_for(qp)};
}

}  // namespace nerve::nic
