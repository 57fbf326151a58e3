// Selective repeat at the requester (IRN, SIGCOMM 2018, section 3): the handling of selective NAKs
// and short timeouts, and the selection of packets to retransmit.
//
// As after any loss, `next` moves back to an earlier packet and proceeds from there. But it skips
// packets that have arrived, and after the last packet that counts as lost it jumps to new ones.
// READs, atomics and FLUSHes are retransmitted whole. A lost response is recovered by go-back-N,
// and so is everything after an RNR NAK, except for the packets that the peer holds.
#include <algorithm>

#include "base/planted.h"
#include "nic/wqe_engine/completer.h"
#include "nic/wqe_engine/requester.h"
#include "wire/syndrome.h"

namespace nerve::nic {
namespace {

Psn later(Psn a, Psn b) { return a.distance_from(b) > 0 ? a : b; }
Psn earlier(Psn a, Psn b) { return a.distance_from(b) < 0 ? a : b; }

}  // namespace

void begin_selective(Qp& qp, Time now) {
  const RequesterState& state = qp.requester;
  Scoreboard& board = qp.repeat->sent;
  qp.selective = true;
  board.begin(state.unacked);
  board.timer_from = board.give_up_at = now;
  if (state.retry_at) board.give_up_at = *state.retry_at;
  if (state.next == state.sent_end) return;
  // A go-back-N retransmission is under way and continues.
  board.resend_from = state.next;
  board.lost_end = state.sent_end;
}

std::optional<Duration> Requester::selective_timeout(const Qp& qp) const {
  const auto timeout = wire::ack_timeout(qp.attributes.timeout);
  // Tail probes replace the short timeouts, and they know the round trip.
  if (!timeout || qp.offers_selective) return timeout;
  const SelectiveRepeatConfig& repeat = core_.config.selective_repeat;
  const bool few = psn_span(qp.requester.unacked, qp.requester.sent_end) <= repeat.few;
  return std::min(*timeout, few ? repeat.timeout_of_few : repeat.timeout);
}

void Requester::note_timer(Qp& qp) {
  Scoreboard& board = qp.repeat->sent;
  board.timer_from = core_.now;
  // If the packet is both new and the oldest, nothing was in flight before it.
  const RequesterState& state = qp.requester;
  const bool first = state.next == state.unacked && state.next == state.sent_end;
  if (const auto timeout = wire::ack_timeout(qp.attributes.timeout); first && timeout) {
    board.give_up_at = core_.now + *timeout;
  }
}

void Requester::rewind_to(Qp& qp, Psn psn) {
  RequesterState& state = qp.requester;
  qp.sends.cursor = qp.sends.head;
  state.next = state.unacked;
  state.reads_outstanding = 0;
  state.read_packets = 0;
  state.probing = false;
  qp.round_trip.forget();
  skip_to(qp, psn);
}

void Requester::skip_to(Qp& qp, Psn until) {
  RequesterState& state = qp.requester;
  while (state.next != until) {
    const SendWqe& wqe = qp.sends.current();
    if (wqe.is_local()) {  // executed when the cursor first passed it
      ++qp.sends.cursor;
      continue;
    }
    const std::uint32_t rest = psn_span(state.next, wqe.end_psn());
    const std::uint32_t wanted = psn_span(state.next, until);
    if (wanted < rest) {
      if (!wqe.wants_response()) state.next = until;
      return;
    }
    if (wqe.op == SendOp::kRead) state.read_packets += rest;
    if (wqe.wants_response()) ++state.reads_outstanding;
    state.next = wqe.end_psn();
    ++qp.sends.cursor;
  }
}

void Requester::skip_arrived(Qp& qp) {
  RequesterState& state = qp.requester;
  Scoreboard& board = qp.repeat->sent;
  while (state.next.distance_from(board.lost_end) < 0) {
    const SendWqe& wqe = qp.sends.current();
    if (wqe.is_local()) {
      ++qp.sends.cursor;
      continue;
    }
    const Psn end = earlier(wqe.end_psn(), board.lost_end);
    if (!wqe.wants_response()) {
      const Psn missing = board.first_missing(state.unacked, state.next, end);
      skip_to(qp, missing);
      if (missing != end) return;
      continue;
    }
    // A single packet requests the response, however many PSNs that has.
    const bool arrived = state.next == wqe.first_psn && board.arrived(state.unacked, wqe.first_psn);
    const bool lost = end == wqe.end_psn() || state.next == state.unacked;
    if (!arrived && lost) return;
    if (!arrived) break;
    skip_to(qp, wqe.end_psn());
  }
  board.resend_from = later(board.resend_from, state.next);
  skip_to(qp, state.sent_end);
}

void Completer::on_selective_nak(Qp& qp, const wire::PsnRun& arrived, const wire::Frame& frame) {
  RequesterState& state = qp.requester;
  if (psn_span(arrived.first + arrived.count, state.sent_end) > kWidestWindow) {
    return drop_answer();  // it names packets that were not sent
  }
  ++core_.counters.selective_naks_received;
  const Psn expected = frame.headers.bth.psn;
  // A NAK that others overtook still reports new packets.
  if (in_flight(state, expected)) {
    if (!acknowledge(qp, expected)) return implied_nak(qp, frame);
    if (!qp.can_send()) return;
    note_progress(qp, frame);
  }
  Scoreboard& board = qp.repeat->sent;
  Scoreboard::Fresh fresh;
  std::optional<Psn>& newest = fresh.newest;
  for (std::uint32_t i = 0; i < arrived.count; ++i) {
    const Psn psn = arrived.first + i;
    if (!in_flight(state, psn) || !board.mark(state.unacked, psn)) continue;
    newest = psn;
    ++fresh.packets;
  }
  if (!newest) return;
  if (planted(Bug::kSelectiveRunAcks)) acknowledge(qp, *newest + 1);
  state.quiet_since = core_.now;
  UltraEthernet* const ultra = qp.ultra();
  if (ultra != nullptr && qp.congestion) inform(qp, *ultra, fresh, frame);
  const SelectiveRepeatConfig& config = core_.config.selective_repeat;
  const bool at_rest = state.next == state.sent_end;
  if (at_rest && board.overtook_repairs(state.unacked, *newest, config.reorder_window)) {
    board.resend_from = state.unacked;  // the retransmissions were lost as well
  }
  if (config.reorder_timeout > Duration{} && !board.reorder_at) {
    board.reorder_at = core_.now + config.reorder_timeout;
  }
  detect_losses(qp, config.reorder_window);
}

void Completer::detect_losses(Qp& qp, std::uint32_t tolerance) {
  RequesterState& state = qp.requester;
  if (state.rnr_until) return;  // missing packets are retransmitted after the wait
  Scoreboard& board = qp.repeat->sent;
  const Psn lost_end = board.lost_before(state.unacked, tolerance);
  if (lost_end == state.unacked) return;
  board.lost_end = later(board.lost_end, lost_end);
  begin_recovery(qp);
  resend_lost(qp);
}

void Completer::begin_recovery(Qp& qp) {
  Scoreboard& board = qp.repeat->sent;
  if (board.recovering) return;
  board.recovering = true;
  board.after_timeout = false;
  board.recover_until = qp.requester.sent_end;
  note_loss(qp);
  if (!qp.congestion) return;
  qp.congestion->forget_round_trips();
  qp.congestion->on_nak(core_.now);
}

void Completer::resend_lost(Qp& qp) {
  RequesterState& state = qp.requester;
  Scoreboard& board = qp.repeat->sent;
  board.resend_from = board.first_missing(state.unacked, board.resend_from, board.lost_end);
  // The requester is on its way there, or nothing is left.
  if (state.next != state.sent_end || board.resend_from.distance_from(board.lost_end) >= 0) return;
  note_retransmit(qp, board.resend_from, TraceCause::kNak);
  Requester::rewind_to(qp, board.resend_from);
  restart_timer(qp);
}

bool Completer::resend_unconfirmed(Qp& qp) {
  RequesterState& state = qp.requester;
  Scoreboard& board = qp.repeat->sent;
  board.lost_end = later(board.lost_end, board.lost_before(state.unacked, 0));
  if (state.next != state.sent_end || board.lost_end == state.unacked) return false;
  begin_recovery(qp);
  board.resend_from = board.first_missing(state.unacked, state.unacked, board.lost_end);
  note_retransmit(qp, board.resend_from, TraceCause::kProbe);
  Requester::rewind_to(qp, board.resend_from);
  return true;
}

void Completer::note_selective_progress(Qp& qp, Psn before) {
  RequesterState& state = qp.requester;
  Scoreboard& board = qp.repeat->sent;
  board.acknowledged(before, state.unacked);
  if (const auto timeout = wire::ack_timeout(qp.attributes.timeout)) {
    board.give_up_at = core_.now + *timeout;
  }
  if (board.reorder_at) {
    board.reorder_at.reset();
    if (board.any_arrived(state.unacked)) {
      board.reorder_at = core_.now + core_.config.selective_repeat.reorder_timeout;
    }
  }
  if (!board.recovering) return;
  if (state.unacked.distance_from(board.recover_until) >= 0) {
    board.recovering = false;
  } else if (board.after_timeout) {
    // The retransmitted packet has arrived and the one after it was missing too. Presume twice as
    // many lost each time, or a long loss would cost a round trip per packet.
    board.presumed = std::min(board.presumed * 2, core_.config.max_outstanding_packets);
    const Psn presumed = earlier(state.unacked + board.presumed, board.recover_until);
    board.lost_end = later(later(board.lost_end, presumed), board.lost_before(state.unacked, 0));
    resend_lost(qp);
  }
}

void Completer::on_reorder_timeout(Qp& qp) {
  std::optional<Time>& due = qp.repeat->sent.reorder_at;
  if (!due || *due > core_.now) return;
  due.reset();
  detect_losses(qp, 0);
  if (!qp.sends.all_sent()) core_.scheduler.wake(qp);
}

void Completer::on_selective_timeout(Qp& qp) {
  RequesterState& state = qp.requester;
  if (!state.retry_at || *state.retry_at > core_.now) return;
  Scoreboard& board = qp.repeat->sent;
  // The timer may have been set when few packets were in flight; now there may be more.
  const auto retry_timeout = requester_.retry_timeout(qp);
  if (retry_timeout && board.timer_from + *retry_timeout > core_.now) {
    state.retry_at = board.timer_from + *retry_timeout;
    return;
  }
  // A retransmission that waits for the pacer, the path or memory is not late.
  const bool waits = state.pace_at || core_.scheduler.is_parked(qp) ||
                     (qp.landing != nullptr && qp.landing->fetching);
  if (qp.offers_selective && state.next != state.sent_end && waits && retry_timeout) {
    state.retry_at = core_.now + *retry_timeout;
    return;
  }
  ++core_.counters.timeouts;
  if (core_.now >= board.give_up_at) {
    if (state.retries_left == 0) return completions_.fail_send(qp, WcStatus::kRetryExceeded);
    --state.retries_left;
    board.give_up_at = core_.now + wire::ack_timeout(qp.attributes.timeout).value_or(Duration{});
  }
  board.recovering = board.after_timeout = true;
  board.recover_until = state.sent_end;
  board.presumed = 1;
  board.resend_from = state.unacked;
  board.lost_end = state.unacked + 1;
  state.recovering = true;
  state.nak_heeded = false;
  if (core_.config.flow_control.shrink_on_loss) {
    state.flight.on_loss(psn_span(state.unacked, state.sent_end));
  }
  if (qp.congestion) {
    qp.congestion->forget_round_trips();
    qp.congestion->on_timeout(core_.now);
  }
  note_retransmit(qp, state.unacked, TraceCause::kTimeout);
  Requester::rewind_to(qp, state.unacked);
  restart_timer(qp);
  core_.scheduler.wake(qp);
}

}  // namespace nerve::nic
