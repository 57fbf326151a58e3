#include "nic/wqe_engine/completer.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/planted.h"
#include "nic/wqe_engine/request_frame.h"
#include "wire/syndrome.h"

namespace nerve::nic {
namespace {

constexpr std::uint8_t kRnrForever = 7;

WcStatus status_of(wire::NakCode code) {
  switch (code) {
    case wire::NakCode::kRemoteAccess:
      return WcStatus::kRemoteAccess;
    case wire::NakCode::kRemoteOperation:
      return WcStatus::kRemoteOperation;
    default:
      return WcStatus::kRemoteInvalidRequest;
  }
}

}  // namespace

void Completer::on_response(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info) {
  if (!qp.can_send()) {
    ++core_.counters.dropped_bad_state;
    return;
  }
  if (info.operation == wire::Operation::kAcknowledge) {
    on_acknowledge(qp, frame);
  } else {
    on_data(qp, frame, info);
  }
  if (!qp.can_send()) return;
  note_progress(qp, frame);
  settle(qp);
}

void Completer::on_acknowledge(Qp& qp, const wire::Frame& frame) {
  RequesterState& state = qp.requester;
  const Psn psn = frame.headers.bth.psn;
  const wire::Aeth& aeth = frame.headers.aeth;
  const wire::AckKind kind = wire::kind_of(aeth.syndrome);
  if (core_.trace != nullptr) [[unlikely]]
    trace_acknowledge(*core_.trace, qp, frame);
  if (UltraEthernet* const ultra = qp.ultra()) {
    if (on_ultra_ethernet(qp, *ultra, frame)) return;
  }
  if (kind == wire::AckKind::kAck) {
    // A PSN one before the oldest acknowledges nothing new, but may carry credits.
    if (psn == state.unacked + 0xff'ffffU) {
      return fits(qp, aeth.msn) ? note_credits(qp, aeth) : drop_answer();
    }
    // Likewise when the packets in between are answered by data, which no ACK covers.
    if (psn.distance_from(state.unacked) < 0) return note_late_credits(qp, aeth);
    if (!in_flight(state, psn) || !accepts_msn(qp, aeth.msn)) return;
    note_credits(qp, aeth);
    const std::uint32_t oldest = qp.sends.head;
    const bool complete = acknowledge(qp, psn + 1);
    learn_msn(qp, oldest, aeth.msn);
    if (!complete) implied_nak(qp, frame);
    return;
  }
  if (qp.selective) {
    if (const auto arrived = wire::arrived_out_of_order(psn, aeth)) {
      return on_selective_nak(qp, *arrived, frame);
    }
  }
  if (!in_flight(state, psn)) return;
  if (!fits(qp, aeth.msn)) return drop_answer();
  if (kind == wire::AckKind::kReserved) return;
  const auto code = static_cast<wire::NakCode>(wire::value_of(aeth.syndrome));
  if (kind == wire::AckKind::kNak && code > wire::NakCode::kInvalidRdRequest)
    return;  // reserved code
  if (planted(Bug::kForgetRetransmit) && kind == wire::AckKind::kNak &&
      code == wire::NakCode::kSequence) {
    acknowledge(qp, state.sent_end);
    return;
  }
  if (!acknowledge(qp, psn)) return implied_nak(qp, frame);
  if (!qp.can_send()) return;
  note_progress(qp, frame);
  if (kind == wire::AckKind::kRnrNak) return on_rnr(qp, wire::value_of(aeth.syndrome));
  if (code == wire::NakCode::kSequence) return on_sequence_nak(qp);
  ++core_.counters.error_naks_received;
  completions_.fail_send(qp, status_of(code));
}

void Completer::on_rnr(Qp& qp, std::uint8_t code) {
  RequesterState& state = qp.requester;
  ++core_.counters.rnr_naks_received;
  // A duplicate of the rejected packet was rejected too: it is the same event, but the wait starts
  // at the later NAK. With selective repeat, a packet that the peer held may be rejected after
  // another one was accepted, which is a new event.
  if (state.rnr_until && (!qp.selective || state.rnr_heard)) {
    state.rnr_until = std::max(*state.rnr_until, core_.now + wire::rnr_delay(code));
    return;
  }
  const std::uint8_t none_left = planted(Bug::kRnrRetriesOneShort) ? 1 : 0;
  if (state.rnr_retries_left <= none_left) {
    return completions_.fail_send(qp, WcStatus::kRnrRetryExceeded);
  }
  if (qp.attributes.rnr_retry != kRnrForever) --state.rnr_retries_left;
  // After the first RNR NAK the whole flight is sent again, so that a receiver which was a little
  // late loses no time. If the receiver stays behind, single packets probe it, since it would
  // discard all that follow.
  state.rnr_stands = std::exchange(state.rnr_heard, true);
  note_retransmit(qp, state.unacked, TraceCause::kNotReady);
  Requester::rewind(qp);
  state.retry_at.reset();
  if (planted(Bug::kRnrIgnoresTimer)) {
    state.rnr_retries_left = kRnrForever;
    return;
  }
  state.rnr_until = core_.now + wire::rnr_delay(code);
}

void Completer::on_sequence_nak(Qp& qp) {
  ++core_.counters.sequence_naks_received;
  RequesterState& state = qp.requester;
  // rxe sends a sequence NAK after an RNR NAK for the packets behind it: the same event.
  if (state.rnr_until) return;
  // A paced QP may not have started the retransmission yet: not a new loss.
  if (state.recovering && state.next == state.unacked) return;
  if (state.nak_heeded) return;  // one retransmission per gap; a timeout resets this
  state.nak_heeded = true;
  state.probe_due = state.probed_on = false;
  state.probes = 0;
  if (qp.congestion) qp.congestion->on_nak(core_.now);
  note_loss(qp);
  retry(qp, TraceCause::kNak);
}

void Completer::on_data(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info) {
  RequesterState& state = qp.requester;
  const Psn psn = frame.headers.bth.psn;
  if (!in_flight(state, psn)) return;
  const bool has_aeth = contains(info.headers, wire::HeaderSet::kAeth);
  if (has_aeth && !accepts_msn(qp, frame.headers.aeth.msn)) return;
  const std::uint32_t first = qp.sends.head;
  // Requests sent before the one that this answers have arrived too.
  while (!qp.sends.empty()) {
    const SendWqe& oldest = qp.sends.oldest();
    const bool beyond = psn_span(state.unacked, psn) >= psn_span(state.unacked, oldest.end_psn());
    if (!beyond) break;
    if (!acknowledge(qp, oldest.end_psn())) return on_response_gap(qp, frame);
    if (!qp.can_send()) return;
  }
  if (qp.sends.empty()) return;
  SendWqe& wqe = qp.sends.oldest();
  if (!wqe.started || !wqe.wants_response()) return;
  if (psn != state.unacked) return on_response_gap(qp, frame);
  if (has_aeth) {
    if (wire::kind_of(frame.headers.aeth.syndrome) != wire::AckKind::kAck) return;
    note_credits(qp, frame.headers.aeth);
  }
  const bool is_atomic = wqe.op == SendOp::kCompareSwap || wqe.op == SendOp::kFetchAdd;
  if (is_atomic != (info.operation == wire::Operation::kAtomicAcknowledge)) {
    return completions_.fail_send(qp, WcStatus::kBadResponse);
  }
  if (is_atomic) {
    place_atomic(qp, wqe, frame);
  } else {
    place_read(qp, wqe, frame);
  }
  if (has_aeth) learn_msn(qp, first, frame.headers.aeth.msn);
}

void Completer::place_read(Qp& qp, SendWqe& wqe, const wire::Frame& frame) {
  RequesterState& state = qp.requester;
  std::uint32_t expected_length = 0;
  if (wqe.op == SendOp::kRead) {
    // FIRST, MIDDLE and LAST are not compared: after a restart some responders start over with
    // FIRST, others (rxe) continue with MIDDLE. PSN and length are sufficient.
    const Segment segment = segment_of(wqe, psn_span(wqe.first_psn, state.unacked), qp.mtu);
    expected_length = segment.length;
    if (frame.payload_length == expected_length && expected_length > 0) {
      const auto placed =
          core_.dma.scatter(qp.sends.list_at(qp.sends.head), segment.offset, frame.payload, qp.pd);
      if (!placed && !planted(Bug::kReadLosesSink)) {
        return completions_.fail_send(qp, WcStatus::kLocalProtection);
      }
      if (placed) completions_.note_placed(qp, *placed);
    }
  }
  if (frame.payload_length != expected_length) {
    return completions_.fail_send(qp, WcStatus::kBadResponse);
  }
  core_.counters.bytes_received += frame.payload_length;
  if (traces_sends(core_.trace, qp)) [[unlikely]] {
    trace_data_placed(*core_.trace, qp, frame, frame.payload_length);
  }
  state.unacked = state.unacked + 1;
  if (qp.sends.cursor != qp.sends.head && wqe.op == SendOp::kRead) --state.read_packets;
  if (state.unacked == wqe.end_psn()) completions_.finish_send(qp, WcStatus::kSuccess);
}

void Completer::place_atomic(Qp& qp, SendWqe& wqe, const wire::Frame& frame) {
  std::uint64_t original = frame.headers.atomic_ack;
  const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(&original),
                          .length = sizeof original};
  const auto placed = core_.dma.scatter(qp.sends.list_at(qp.sends.head), 0, {&piece, 1}, qp.pd);
  if (!placed) return completions_.fail_send(qp, WcStatus::kLocalProtection);
  completions_.note_placed(qp, *placed);
  if (traces_sends(core_.trace, qp)) [[unlikely]] {
    trace_data_placed(*core_.trace, qp, frame, sizeof original);
  }
  qp.requester.unacked = wqe.end_psn();
  completions_.finish_send(qp, WcStatus::kSuccess);
}

bool Completer::acknowledge(Qp& qp, Psn end) {
  RequesterState& state = qp.requester;
  while (qp.can_send() && state.unacked != end) {
    CHECK(!qp.sends.empty());
    const SendWqe& wqe = qp.sends.oldest();
    if (wqe.wants_response()) return false;
    const std::uint32_t acked = psn_span(state.unacked, end);
    if (acked < psn_span(state.unacked, wqe.end_psn())) {
      state.unacked = end;
      return true;
    }
    state.unacked = wqe.end_psn();
    completions_.finish_send(qp, WcStatus::kSuccess);
    requester_.retire_local(qp);
  }
  return true;
}

void Completer::note_credits(Qp& qp, const wire::Aeth& aeth) {
  qp.requester.credits.on_ack(aeth.msn, wire::value_of(aeth.syndrome));
  qp.requester.probing = false;
}

void Completer::note_progress(Qp& qp, const wire::Frame& frame) {
  RequesterState& state = qp.requester;
  const Psn before = std::exchange(state.progress_noted, state.unacked);
  if (before == state.unacked) return;
  state.flight.on_acknowledged(psn_span(before, state.unacked));
  state.retries_left = qp.attributes.retry_count;
  state.rnr_retries_left = qp.attributes.rnr_retry;
  state.recovering = false;
  state.nak_heeded = false;
  state.probe_due = false;
  state.quiet_since = core_.now;
  if (core_.config.tail_probe.on) {
    if (qp.round_trip.on_ack(state.unacked, core_.now)) {
      state.probes = 0;
      state.probed_on = false;
    } else {
      probe_again(qp);
    }
  }
  state.probing = state.rnr_heard = state.rnr_stands = false;
  // An acknowledgement of the first transmission may overtake the retransmission.
  if (psn_span(before, state.next) < psn_span(before, state.unacked)) state.next = state.unacked;
  restart_timer(qp);
  UltraEthernet* const ultra = qp.ultra();
  const Scoreboard::Fresh fresh =
      ultra == nullptr ? Scoreboard::Fresh{} : qp.repeat->sent.fresh_in(before, state.unacked);
  if (qp.selective) note_selective_progress(qp, before);
  if (!qp.congestion) return;
  if (ultra != nullptr) return inform(qp, *ultra, fresh, frame);
  AckSample sample{
      .now = core_.now,
      .acked_bytes = std::uint64_t{psn_span(before, state.unacked)} * qp.mtu,
      .outstanding_bytes = std::uint64_t{psn_span(state.unacked, state.sent_end)} * qp.mtu,
      .ecn_echo = frame.headers.bth.becn,
      .telemetry = frame.telemetry};
  if (RoundTrips* const trips = qp.congestion->round_trips()) {
    sample.round_trip = trips->on_ack(state.unacked, core_.now);
  }
  inform(qp, sample);
}

void Completer::inform(Qp& qp, const AckSample& sample) {
  RequesterState& state = qp.requester;
  qp.congestion->on_ack(sample);
  // Window-based algorithms set a new rate with each ACK, which applies immediately. Those without
  // a window change their rate rarely, and adapters let already scheduled packets leave.
  if (qp.congestion->window_bytes() != std::numeric_limits<std::uint64_t>::max()) {
    qp.pacer.change_rate(requester_.rate_of(qp));
    if (state.pace_at) state.pace_at = qp.pacer.next_send();
  }
}

void Completer::on_response_gap(Qp& qp, const wire::Frame& frame) {
  // The missing response was already requested again: this packet answers the first request, and
  // the peer finishes that before it sees the second. A slow peer may take longer than the timeout,
  // so its data restarts the timer. If the retransmission has not started yet, the timer must not
  // be extended.
  const RequesterState& state = qp.requester;
  if (state.recovering && state.next != state.unacked) restart_timer(qp);
  implied_nak(qp, frame);
}

void Completer::implied_nak(Qp& qp, const wire::Frame& frame) {
  note_progress(qp, frame);
  RequesterState& state = qp.requester;
  if (state.recovering || state.rnr_until) return;
  ++core_.counters.implied_naks;
  note_loss(qp);
  retry(qp, TraceCause::kNak);
}

void Completer::note_loss(Qp& qp) {
  if (!core_.config.flow_control.shrink_on_loss) return;
  RequesterState& state = qp.requester;
  if (qp.selective) return state.flight.on_selective_loss(core_.config.max_outstanding_packets);
  state.flight.on_loss(psn_span(state.unacked, state.sent_end));
}

void Completer::retry(Qp& qp, TraceCause why) {
  RequesterState& state = qp.requester;
  const std::uint8_t none_left = planted(Bug::kRetriesOneShort) ? 1 : 0;
  if (state.retries_left <= none_left) {
    return completions_.fail_send(qp, WcStatus::kRetryExceeded);
  }
  --state.retries_left;
  note_retransmit(qp, state.unacked, why);
  state.recovering = true;
  Requester::rewind(qp);
  // The first retransmitted packet starts the timer: a packet that waits for its turn is not late.
  // On a port that is down it could wait forever, so the timer starts now.
  state.retry_at.reset();
  if (!port_.active()) restart_timer(qp);
}

void Completer::restart_timer(Qp& qp) {
  RequesterState& state = qp.requester;
  state.retry_at.reset();
  if (state.unacked == state.sent_end) state.probe_armed = false;
  if (state.unacked == state.sent_end || state.rnr_until) return;
  const auto retry_timeout = requester_.retry_timeout(qp);
  if (!retry_timeout) return;
  state.retry_at = core_.now + *retry_timeout;
  if (core_.config.tail_probe.on) requester_.arm_probe(qp);
  if (qp.selective) qp.repeat->sent.timer_from = core_.now;
}

void Completer::settle(Qp& qp) {
  requester_.retire_local(qp);
  if (!qp.can_send()) return;
  if (qp.has_to_send() || qp.requester.probe_due) core_.scheduler.wake(qp);
  core_.scheduler.rearm(qp);
}

void Completer::on_cnp(Qp& qp) {
  ++core_.counters.cnps_received;
  if (!qp.congestion) return;
  const FlowControlConfig& config = core_.config.flow_control;
  if (!qp.congestion->cnps.admits(config.cnp_interval, config.max_cnp_burst, core_.now)) {
    ++core_.counters.cnps_ignored;
    return;
  }
  qp.congestion->on_cnp(core_.now);
}

void Completer::on_timer(Qp& qp) {
  RequesterState& state = qp.requester;
  if (state.pace_at && *state.pace_at <= core_.now) {
    state.pace_at.reset();
    core_.scheduler.wake(qp);
  }
  if (state.rnr_until && *state.rnr_until <= core_.now) {
    const bool forgotten = planted(Bug::kForgetsOverdueTimer) &&
                           core_.now - *state.rnr_until > std::chrono::seconds{1};
    state.rnr_until.reset();
    if (!forgotten) core_.scheduler.wake(qp);
  }
  if (qp.selective) {
    on_reorder_timeout(qp);
    on_selective_timeout(qp);
    if (!qp.can_send()) return;
  } else if (state.retry_at && *state.retry_at <= core_.now) {
    ++core_.counters.timeouts;
    state.nak_heeded = false;
    note_loss(qp);
    state.flight.on_timeout();
    if (qp.congestion) qp.congestion->on_timeout(core_.now);
    retry(qp, TraceCause::kTimeout);
    if (!qp.can_send()) return;
    core_.scheduler.wake(qp);
  }
  on_probe_timer(qp);
  core_.scheduler.rearm(qp);
}

}  // namespace nerve::nic
