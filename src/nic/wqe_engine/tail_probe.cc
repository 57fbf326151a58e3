// The tail probe: detects the loss of the last packets of a flight before the QP's timeout.
//
// A loss is normally detected when a later packet arrives. When the last packets of a flight are
// lost, or the NAK that reported a gap, no later packet follows, and the QP would wait for its
// timeout, which programs set to tens or hundreds of milliseconds. Therefore, after about two round
// trips without any packet sent or received, the requester retransmits the last packet with an ACK
// request. Every responder answers: with an ACK if everything arrived or if this was the missing
// packet, with a NAK if an earlier one is missing, and recovery begins. The first probe may stay
// unanswered, because a responder reports a gap only once and that NAK may be lost. Later probes
// therefore start with the oldest packet, which closes the gap; the last packet then reveals the
// next gap.
//
// A probe is not a retry: no counter changes, and the retry timer keeps running. The interval
// doubles with each probe until a round trip has been measured, as in TCP. No probe is sent when
// the retry timer would expire sooner, on a lossless path (EgressGate), during an RNR wait, while
// the QP waits for the pacer or the path, or when no retry is left, because the NAK that it may
// draw would then end the QP. It may draw one although nothing was lost, if the peer has just
// rejected packets for lack of a receive.
//
// A request that is answered by data is answered again: a READ is requested from its first missing
// packet on, and an atomic is answered from the responder's replay cache. Data costs the peer much
// more than an ACK, so a READ is repeated only when it is the oldest request.
#include <algorithm>

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/wqe_engine/completer.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

Duration Requester::probe_interval(const Qp& qp) const {
  constexpr std::uint32_t kMaxDoublings = 10;
  const TailProbeConfig& probe = core_.config.tail_probe;
  const auto measured = qp.round_trip.patience();
  const Duration interval = std::max(measured.value_or(probe.first_interval), probe.min_interval);
  return interval *
         (std::int64_t{1} << std::min<std::uint32_t>(qp.requester.probes, kMaxDoublings));
}

void Requester::end_turn(Qp& qp, TxBurst& burst, std::uint32_t first, Psn sent_before) {
  RequesterState& state = qp.requester;
  if (burst.size() == first) {
    if (state.probe_due && !burst.full()) send_probe(qp, burst);
    return;
  }
  state.probe_due = false;  // these packets have the effect of a probe
  state.quiet_since = core_.now;
  const bool fresh = state.next == state.sent_end && state.sent_end != sent_before;
  if (fresh && burst[burst.size() - 1].headers.bth.ack_request) {
    qp.round_trip.on_send(state.sent_end + 0xff'ffffU, core_.now);
  }
  arm_probe(qp);
}

void Requester::arm_probe(Qp& qp) const {
  RequesterState& state = qp.requester;
  if (state.probe_armed || state.unacked == state.next || !state.retry_at) return;
  state.probe_armed = true;
  state.probe_at = core_.now + probe_interval(qp);
}

void Requester::send_probe(Qp& qp, TxBurst& burst) {
  RequesterState& state = qp.requester;
  state.probe_due = false;
  if (state.rnr_until || state.unacked == state.next) return;
  // The oldest packet is sent as well if the peer may have reported this gap before, since it
  // reports each gap once.
  const bool data_due = qp.sends.oldest().wants_response();
  const bool gap_known = state.probes > 1 || state.recovering || state.nak_heeded;
  const std::uint32_t position = last_answered_by_ack(qp);
  const SendWqe& wqe = qp.sends.at(position);
  const bool all_sent = psn_span(wqe.first_psn, state.next) >= wqe.packets;
  const Psn last = (all_sent ? wqe.end_psn() : state.next) + 0xff'ffffU;
  if (data_due || (gap_known && last != state.unacked)) {
    resend_one(qp, qp.sends.head, state.unacked, burst);
  }
  if (data_due || burst.full()) return;
  resend_one(qp, position, last, burst);
}

std::uint32_t Requester::last_answered_by_ack(Qp& qp) {
  std::uint32_t position = qp.sends.cursor - (qp.sends.all_sent() ? 1U : 0U);
  const RequesterState& state = qp.requester;
  const auto is_one = [&](const SendWqe& wqe) {
    const bool under_way =
        psn_span(state.unacked, wqe.first_psn) < psn_span(state.unacked, state.next);
    return wqe.started && under_way && !wqe.is_local() && !wqe.wants_response();
  };
  while (position != qp.sends.head && !is_one(qp.sends.at(position))) --position;
  return position;
}

bool Requester::resend_one(Qp& qp, std::uint32_t position, Psn psn, TxBurst& burst) {
  RequesterState& state = qp.requester;
  if (paced(qp) && !qp.pacer.may_send(core_.now)) return false;
  wire::Frame& frame = burst.add();
  if (build(qp, position, psn, burst) != WcStatus::kSuccess) {
    burst.drop_last();  // its memory is no longer accessible
    return false;
  }
  if (planted(Bug::kProbeMislabelsPacket)) frame.headers.bth.psn = state.next + 0xff'ffffU;
  if (core_.trace != nullptr) [[unlikely]] {
    trace_retransmit(*core_.trace, qp, psn, TraceCause::kProbe);
    trace_made(*core_.trace, qp, position, frame);
  }
  frame.headers.bth.ack_request = true;
  note_sent(qp, frame, /*again=*/true);
  state.since_ack_request = 0;
  state.quiet_since = core_.now;
  ++core_.counters.tail_probes_sent;
  return true;
}

// A go-back-N peer that has already reported its gap answers the oldest packet, if it has it, with
// an ACK of its progress. The next probe, which starts with the packet it lacks, is then sent
// immediately. Only one such probe is sent: a slow peer must not get another for each packet that
// it acknowledges.
void Completer::probe_again(Qp& qp) {
  RequesterState& state = qp.requester;
  if (state.probes < 2 || state.probed_on || qp.selective || state.unacked == state.next) return;
  state.probe_due = state.probed_on = !qp.sends.oldest().wants_response();
}

void Completer::on_probe_timer(Qp& qp) {
  RequesterState& state = qp.requester;
  if (!state.probe_armed || state.probe_at > core_.now) return;
  state.probe_armed = false;
  // Armed again with the next packet sent, or together with the retry timer.
  if (state.unacked == state.next || state.rnr_until || !state.retry_at) return;
  if (state.retries_left == 0) return;  // a NAK in answer to the probe would end the QP
  const EgressGate* const gate = core_.config.tail_probe.every_path ? nullptr : core_.gate;
  if (gate != nullptr && !gate->may_lose(qp.flow, qp.peer)) return;
  const Duration interval = requester_.probe_interval(qp);
  const Time due = state.quiet_since + interval;
  if (due >= *state.retry_at) return;  // the retry timer expires sooner
  state.probe_armed = true;
  if (due > core_.now) {
    state.probe_at = due;
    return;
  }
  if (state.pace_at || core_.scheduler.is_parked(qp)) {
    state.probe_at = core_.now + interval;  // some packets have not been sent yet
    return;
  }
  if (state.probes < 0xff) ++state.probes;
  qp.round_trip.forget();
  if (!qp.selective || !resend_unconfirmed(qp)) state.probe_due = true;
  state.probe_at = core_.now + 2 * interval;
  core_.scheduler.wake(qp);
}

}  // namespace nerve::nic
