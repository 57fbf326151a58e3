#include "nic/wqe_engine/requester.h"

#include <algorithm>

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/wqe_engine/request_frame.h"

namespace nerve::nic {
namespace {

// Half of the PSN ring: with a longer flight, new packets could not be distinguished from
// duplicates (IBTA 9.7.1).
constexpr std::uint32_t kMaxSpan = 1U << 23;

// Ethernet, IP, UDP and ICRC bytes that the engine does not see, for pacing.
constexpr std::uint32_t kWireOverhead = 14 + 40 + 8 + 4;

std::uint32_t wire_size(const wire::Frame& frame) {
  return static_cast<std::uint32_t>(frame.headers.size()) + frame.payload_length +
         frame.headers.bth.pad;
}

}  // namespace

// One turn of a QP: sends as much as the budget, the window, credits, the pacer and the path allow.
//
// The loop does not distinguish new packets from retransmissions: after a loss, rewind() or
// rewind_to() has moved the cursor and `next` back, and packets with next != sent_end are
// retransmissions. The second half keeps the QP from stalling: if only an answer can unblock it,
// the last packet of the turn must request an ACK.
bool Requester::transmit(Qp& qp, TxBurst& burst, std::uint32_t budget, bool clipped) {
  fetches_ = false;
  if (!qp.can_send()) return false;
  const std::uint32_t first = burst.size();
  const Psn sent_before = qp.requester.sent_end;
  Train train;
  Step last = Step::kSkipped;
  UltraEthernet* const ultra = qp.ultra();
  bool resends = false;
  if (ultra != nullptr && !ultra->trimmed.empty()) {
    resends = resend_trimmed(qp, *ultra, burst, budget);
  }
  while ((last == Step::kSent || last == Step::kSkipped) && !qp.sends.all_sent()) {
    if (burst.full() || burst.size() - first >= budget) break;
    last = step(qp, burst, train);
    if (last == Step::kSent && !qp.sends.all_sent()) {
      repeat_middle(qp, burst, budget - (burst.size() - first));
    }
  }
  // The remaining packets may all have arrived; then only an answer can unblock the QP.
  if (qp.selective && qp.offers_selective && last == Step::kSent &&
      qp.requester.next != qp.requester.sent_end) {
    skip_arrived(qp);
  }
  if (ultra != nullptr && last == Step::kBlocked) await_credit(qp, *ultra);
  const bool more = last != Step::kBlocked && !qp.sends.all_sent() && qp.can_send();

  if (qp.reliable() && qp.can_send() && needs_ack(qp, more && !clipped)) {
    if (burst.size() > first) {
      burst[burst.size() - 1].headers.bth.ack_request = true;
      qp.requester.since_ack_request = 0;
    } else if (!ack_is_requested(qp)) {
      // Selective repeat: the packets to be retransmitted may have arrived since the last turn.
      const bool room = budget > 0 && !burst.full();
      const bool arrived = qp.selective && qp.sends.all_sent() && room;
      if (last == Step::kBlocked || arrived) resend_last(qp, burst);
    }
  }
  if (core_.config.tail_probe.on && qp.reliable() && qp.can_send() && budget > 0) {
    end_turn(qp, burst, first, sent_before);
  }
  completions_.note_drained(qp);  // unreliable requests complete when they are sent
  core_.scheduler.rearm(qp);
  return more || resends;
}

// Whether the last packet of this turn must request an ACK, because only an answer can unblock the
// QP. A QP that only yields its turn or waits for the pacer requests one every ack_every() packets
// (emit), unless sending that many takes so long that the retry timer would expire.
bool Requester::needs_ack(Qp& qp, bool more) const {
  const RequesterState& state = qp.requester;
  if (qp.sends.all_sent() || state.rnr_until || state.probing || !window_open(qp)) return true;
  const SendWqe& wqe = qp.sends.current();
  if (wqe.fault != WcStatus::kSuccess || wqe.is_local()) return true;
  const bool at_start = !wqe.started || state.next == wqe.first_psn;
  if (at_start && !may_begin(qp, wqe)) return true;
  if (!paced(qp) || qp.pacer.may_send(core_.now)) return !more;
  const auto timeout = wire::ack_timeout(qp.attributes.timeout);
  constexpr std::int64_t kOften = 4;  // times per timeout
  return timeout && qp.pacer.next_send() - core_.now > *timeout / (kOften * ack_every());
}

Requester::Step Requester::step(Qp& qp, TxBurst& burst, Train& train) {
  RequesterState& state = qp.requester;
  if (state.rnr_until || state.probing) return Step::kBlocked;
  if (qp.selective && state.next != state.sent_end) {
    skip_arrived(qp);
    if (qp.sends.all_sent()) return Step::kSkipped;
  }
  SendWqe& wqe = qp.sends.current();
  if (wqe.fault != WcStatus::kSuccess) {
    if (qp.sends.cursor == qp.sends.head) completions_.fail_send(qp, wqe.fault);
    return Step::kBlocked;
  }
  if (wqe.is_local()) return run_local(qp, wqe);
  const bool at_start = !wqe.started || state.next == wqe.first_psn;
  if (at_start && !may_begin(qp, wqe)) return Step::kBlocked;
  if (at_start && qp.landing != nullptr && contains(wqe.flags, SendFlags::kFence)) {
    // It may send what a READ before it has brought.
    if (!completions_.has_landed(qp, qp.landing->last)) return fetching(qp);
  }
  if (!window_open(qp)) return Step::kBlocked;
  if (paced(qp)) {
    if (!qp.pacer.may_send(core_.now)) {
      state.pace_at = qp.pacer.next_send();
      return Step::kBlocked;
    }
    state.pace_at.reset();
  }
  if (qp.datagram() && !room_for(qp, wqe)) return Step::kBlocked;
  if (core_.dma.has_late() && state.unacked == state.next && suits_late_copy(qp, wqe))
      [[unlikely]] {
    if (copy_late(qp, wqe)) return Step::kSkipped;
  }
  if (qp.landing != nullptr && !planted(Bug::kPacketOvertakesCopy)) [[unlikely]] {
    if (!completions_.has_landed(qp, qp.landing->direct)) return fetching(qp);
  }
  if (may_take_direct_path(qp, wqe)) {
    const Step taken = take_direct_path(qp, wqe, burst);
    if (taken != Step::kBlocked) return taken;
  }
  if (!wqe.started) begin(qp, wqe);
  return emit(qp, wqe, burst, train);
}

bool Requester::room_for(Qp& qp, const SendWqe& wqe) {
  if (core_.gate == nullptr) return true;
  const SendExtra::Destination& destination = qp.sends.extra_of(wqe).to;
  const AddressHandle* to = addresses_.find(destination.ah);
  if (to == nullptr) return true;
  if (core_.gate->grant({.flow = to->flow, .destination = destination.qpn, .frames = 1}) > 0) {
    return true;
  }
  core_.scheduler.park(qp);
  return false;
}

bool Requester::may_begin(const Qp& qp, const SendWqe& wqe) const {
  const RequesterState& state = qp.requester;
  if (qp.state == QpState::kSqd && !wqe.started && state.placed == 0) return false;
  if (!qp.reliable()) return true;
  const bool fenced = contains(wqe.flags, SendFlags::kFence) && !planted(Bug::kIgnoreFence);
  if (fenced && state.reads_outstanding > 0) return false;
  if (wqe.wants_response()) {
    const std::uint32_t depth = qp.attributes.max_read + (planted(Bug::kExceedReadDepth) ? 1U : 0U);
    // A depth of zero is an error, not a reason to wait.
    if (state.reads_outstanding >= depth && qp.attributes.max_read > 0) return false;
    if (!wqe.started && state.read_packets >= core_.config.max_read_packets) return false;
  }
  if (!wqe.started && psn_span(state.unacked, state.next) + wqe.packets > kMaxSpan) return false;
  if (waits_to_copy(qp, wqe)) return false;
  // Without a credit, a single packet may still be sent to probe for one (IBTA 9.7.7.2.5).
  const std::uint32_t sequence = wqe.started ? wqe.sequence : state.next_sequence;
  return has_credit(qp, wqe, sequence) || state.unacked == state.next;
}

bool Requester::has_credit(const Qp& qp, const SendWqe& wqe, std::uint32_t sequence) const {
  if (!core_.config.flow_control.heed_credits || !qp.reliable() || !wqe.consumes_receive())
    return true;
  return qp.requester.credits.verdict(sequence) == CreditVerdict::kSend;
}

Rate Requester::rate_of(const Qp& qp) const {
  const Rate limit = planted(Bug::kIgnoreRateLimit) ? Rate{} : qp.attributes.rate_limit;
  if (qp.congestion) qp.congestion->catch_up(core_.now);
  const Rate rate = qp.congestion ? qp.congestion->rate() : core_.config.line_rate;
  return limit > Rate{} ? std::min(rate, limit) : rate;
}

std::uint32_t Requester::window_left(const Qp& qp) const {
  const RequesterState& state = qp.requester;
  const auto left = [](std::uint32_t limit, std::uint32_t used) {
    return limit - std::min(used, limit);
  };
  const std::uint32_t outstanding = psn_span(state.unacked, state.next);
  // READ responses are not limited by max_outstanding_packets: we requested them and the peer paces
  // them. After a timeout they do count (flight), since the peer may have more READs to serve than
  // it has time for.
  return std::min(left(core_.config.max_outstanding_packets, outstanding - state.read_packets),
                  left(state.flight.limit(), outstanding));
}

bool Requester::window_open(const Qp& qp) const {
  if (!qp.reliable()) return true;
  if (window_left(qp) == 0) return false;
  if (const UltraEthernet* const ultra = qp.ultra()) {
    // Packets that count as lost are retransmitted in any case.
    return qp.requester.next != qp.requester.sent_end || ultra_window_open(qp, *ultra);
  }
  if (!qp.congestion) return true;
  const std::uint32_t outstanding =
      psn_span(qp.requester.unacked, qp.requester.next) - qp.requester.read_packets;
  // A window smaller than a packet still admits one.
  return outstanding == 0 || std::uint64_t{outstanding} * qp.mtu < qp.congestion->window_bytes();
}

void Requester::begin(Qp& qp, SendWqe& wqe) {
  RequesterState& state = qp.requester;
  wqe.started = true;
  wqe.first_psn = state.next;
  wqe.sequence = state.next_sequence;
  state.next_sequence = (state.next_sequence + 1) & 0xff'ffffU;
}

Requester::Step Requester::emit(Qp& qp, SendWqe& wqe, TxBurst& burst, Train& train) {
  RequesterState& state = qp.requester;
  wire::Frame& frame = burst.add();
  const std::optional<WcStatus> built = build(qp, qp.sends.cursor, state.next, burst);
  if (built != WcStatus::kSuccess) {
    burst.drop_last();
    if (!built) return fetching(qp);
    fault(qp, wqe, *built);
    return Step::kBlocked;
  }
  if (qp.landing != nullptr) [[unlikely]]
    qp.landing->fetching = false;
  if (traces_sends(core_.trace, qp)) [[unlikely]] {
    if (state.next == wqe.first_psn && state.next == state.sent_end) {
      trace_fetch(*core_.trace, qp, qp.sends.cursor);
    }
    trace_made(*core_.trace, qp, qp.sends.cursor, frame);
  }
  // A train has one flow and one size. All frames of a connected QP share the flow; those of a
  // datagram QP need not.
  const std::uint32_t size = wire_size(frame);
  const bool same_flow =
      !qp.datagram() || train.size == 0 || burst[burst.size() - 2].flow == frame.flow;
  frame.continues_train = train.size != 0 && size <= train.size && same_flow;
  train.size = frame.continues_train && size < train.size ? 0 : size;

  const std::uint32_t consumed = wqe.op == SendOp::kRead ? psn_span(state.next, wqe.end_psn()) : 1;
  const bool again = state.next != state.sent_end;
  if (UltraEthernet* const ultra = qp.ultra()) {
    choose_path(qp, *ultra, frame, again ? Sending::kLost : Sending::kFirst);
  }
  note_sent(qp, frame, again);
  const bool wants_ack =
      qp.reliable() && (wqe.wants_response() || state.since_ack_request >= ack_every());
  if (wants_ack) {
    frame.headers.bth.ack_request = true;
    state.since_ack_request = 0;
    // During recovery an ACK is delayed by the missing packets and does not measure a round trip.
    RoundTrips* const trips = qp.congestion ? qp.congestion->round_trips() : nullptr;
    if (trips != nullptr && !again && !(qp.selective && qp.repeat->sent.recovering)) {
      trips->on_send(state.next + (consumed - 1), core_.now);
    }
  }
  advance(qp, wqe, consumed);
  if (again && qp.selective) {
    qp.repeat->sent.resend_from = state.next;
    qp.repeat->sent.repaired_at = state.sent_end;
    if (core_.config.flow_control.shrink_on_loss) state.flight.on_resent();
  }
  return Step::kSent;
}

Requester::Step Requester::fetching(Qp& qp) {
  fetches_ = true;
  core_.scheduler.await_memory(qp);
  qp.landing->fetching = true;
  return Step::kFetching;
}

std::optional<WcStatus> Requester::build(Qp& qp, std::uint32_t position, Psn psn, TxBurst& burst) {
  const RequesterState& state = qp.requester;
  const SendWqe& wqe = qp.sends.at(position);
  wire::Frame& frame = burst[burst.size() - 1];
  // A datagram is a single packet. Adapters report a longer one with a completion error; IBTA
  // C10-93.1.1 would drop it silently (docs/coverage.md).
  if (qp.datagram() && wqe.length > qp.mtu) return WcStatus::kLocalLength;
  Segment segment = segment_of(wqe, wqe.started ? psn_span(wqe.first_psn, psn) : 0, qp.mtu);
  if (planted(Bug::kResumeAtMessageStart) && state.next != state.sent_end) segment.offset = 0;
  if (wqe.wants_response() && qp.attributes.max_read == 0) return WcStatus::kLocalQpOperation;
  if (!address(qp, wqe, frame)) return WcStatus::kLocalQpOperation;

  PKey pkey = qp.pkey;
  if (qp.type == QpType::kGsi) {
    pkey = port_.pkey(qp.sends.extra_of(wqe).to.pkey_index).value_or(qp.pkey);
  }
  fill_request_headers(qp, wqe, segment, pkey, frame.headers);
  frame.headers.bth.psn = psn;
  if (planted(Bug::kPsnWrapOff) && psn == Psn{0xff'ffff}) frame.headers.bth.psn = Psn{0};

  frame.placed = wqe.placed;
  const bool headers_say_all = wqe.wants_response() && wqe.op != SendOp::kAtomicWrite;
  if (headers_say_all || segment.length == 0) return WcStatus::kSuccess;
  if (contains(wqe.flags, SendFlags::kInline)) {
    const std::byte* from = qp.sends.inline_at(position) + segment.offset;
    burst.add_piece({.address = reinterpret_cast<std::uint64_t>(from), .length = segment.length});
    return WcStatus::kSuccess;
  }
  const std::span<const Sge> list = qp.sends.list_at(position);
  Gathered gathered = core_.dma.gather(list, segment.offset, segment.length, qp.pd, burst);
  if (gathered == Gathered::kLater) [[unlikely]]
    gathered = fetch(qp, position, segment, burst);
  if (gathered == Gathered::kDone) return WcStatus::kSuccess;
  if (gathered == Gathered::kLater) return std::nullopt;
  return WcStatus::kLocalProtection;
}

Gathered Requester::fetch(Qp& qp, std::uint32_t position, const Segment& segment, TxBurst& burst) {
  const LateReader reader{.engine = &core_, .message = request_message(qp, position)};
  const Gathered fetched = core_.dma.gather_late(qp.sends.list_at(position), segment.offset,
                                                 segment.length, qp.pd, burst, reader);
  if (fetched == Gathered::kDone) core_.counters.late_bytes_sent += segment.length;
  return fetched;
}

void Requester::repeat_middle(Qp& qp, TxBurst& burst, std::uint32_t room) {
  RequesterState& state = qp.requester;
  const SendWqe& wqe = qp.sends.current();
  const bool plain =
      wqe.sge_count == 1 && !wqe.wants_response() && qp.reliable() && !qp.congestion && !paced(qp);
  if (!plain || !wqe.started) return;
  const std::uint32_t index = psn_span(wqe.first_psn, state.next);
  if (index < 2 || index + 1 >= wqe.packets)
    return;  // the previous frame must be a middle packet
             // too

  const bool again = state.next != state.sent_end;
  if (again && qp.selective) return;  // each packet is checked against the scoreboard
  if (qp.ultra() != nullptr) return;  // each packet has a path of its own
  std::uint32_t count = std::min({wqe.packets - 1 - index, room, window_left(qp), burst.room(),
                                  ack_every() - std::min(state.since_ack_request, ack_every())});
  if (again) count = std::min(count, psn_span(state.next, state.sent_end));
  if (count == 0) return;

  const Sge& sge = qp.sends.list_at(qp.sends.cursor)[0];
  const std::uint64_t offset = std::uint64_t{index} * qp.mtu;
  const auto place =
      core_.dma.resolve_local(sge.lkey, qp.pd, sge.address + offset, count * qp.mtu, Access::kNone);
  if (!place) return;  // the next step() determines which packet is at fault
  if (core_.dma.is_late(*place)) [[unlikely]] {
    const LateReader reader{.engine = &core_, .message = request_message(qp, qp.sends.cursor)};
    count = core_.dma.repeat_late({place->address, qp.mtu, place->port},
                                  wqe.length - offset - qp.mtu, count, burst, reader);
    if (count == 0) return;  // the next step() waits for it
    core_.counters.late_bytes_sent += std::uint64_t{count} * qp.mtu;
  } else {
    burst.repeat_last(count, {.address = place->address, .length = qp.mtu, .port = place->port});
  }

  if (traces_sends(core_.trace, qp)) [[unlikely]] {
    trace_made(*core_.trace, qp, qp.sends.cursor, burst[burst.size() - count], count);
  }
  core_.counters.frames_sent += count;
  core_.counters.bytes_sent += std::uint64_t{count} * qp.mtu;
  qp.bytes_sent += std::uint64_t{count} * qp.mtu;
  if (again) note_retransmitted(qp, count);
  state.since_ack_request += count;
  state.next = state.next + count;
  if (!again) state.sent_end = state.next;
}

bool Requester::address(Qp& qp, const SendWqe& wqe, wire::Frame& frame) {
  if (!qp.datagram()) {
    frame.flow = qp.flow;
    return true;
  }
  const AddressHandle* to = addresses_.find(qp.sends.extra_of(wqe).to.ah);
  if (to == nullptr || to->pd != qp.pd) return false;
  frame.flow = to->flow;
  frame.flow.source_port = datagram_source_port(qp.qpn);
  return true;
}

void Requester::note_retransmitted(Qp& qp, std::uint32_t packets) {
  core_.counters.retransmitted_frames += packets;
  qp.packets_retransmitted += packets;
}

void Requester::note_sent(Qp& qp, const wire::Frame& frame, bool again) {
  RequesterState& state = qp.requester;
  ++core_.counters.frames_sent;
  core_.counters.bytes_sent += frame.payload_length;
  qp.bytes_sent += frame.payload_length;
  if (again) note_retransmitted(qp, 1);
  ++state.since_ack_request;
  if (qp.reliable() && !state.retry_at) {
    if (const auto timeout = retry_timeout(qp)) state.retry_at = core_.now + *timeout;
    if (qp.selective) note_timer(qp);
  }
  const std::uint64_t bytes = wire_size(frame) + kWireOverhead;
  if (paced(qp)) qp.pacer.on_send(bytes, rate_of(qp), core_.now);
  if (!qp.congestion) return;
  qp.congestion->on_send(bytes, core_.now);
  qp.congestion->cnps.on_send(core_.now);
}

void Requester::advance(Qp& qp, SendWqe& wqe, std::uint32_t packets) {
  RequesterState& state = qp.requester;
  const bool without_credit = state.next == wqe.first_psn && !has_credit(qp, wqe, wqe.sequence);
  if (without_credit || (state.rnr_stands && state.next == state.unacked)) state.probing = true;
  const bool fresh = state.next == state.sent_end;
  if (wqe.op == SendOp::kRead) state.read_packets += packets;
  state.next = state.next + packets;
  // A READ restarted in the middle may end beyond what was sent before.
  if (fresh || psn_span(state.unacked, state.next) > psn_span(state.unacked, state.sent_end)) {
    state.sent_end = state.next;
  }
  if (state.next != wqe.end_psn()) return;

  if (wqe.wants_response()) ++state.reads_outstanding;
  ++qp.sends.cursor;
  // Unreliable requests are not acknowledged: they complete when they are sent.
  const bool too_soon = planted(Bug::kCompleteBeforeAck) && wqe.op == SendOp::kSend &&
                        qp.sends.cursor == qp.sends.head + 1;
  if (qp.reliable() && !too_soon) return;
  state.unacked = state.next;
  completions_.finish_send(qp, WcStatus::kSuccess);
}

void Requester::fault(Qp& qp, SendWqe& wqe, WcStatus status) {
  wqe.fault = status;
  // Earlier requests complete first; the fault is reported when its request is the oldest.
  if (qp.sends.cursor == qp.sends.head) completions_.fail_send(qp, status);
}

void Requester::rewind(Qp& qp) {
  RequesterState& state = qp.requester;
  qp.sends.cursor = qp.sends.head;
  state.next = state.unacked;
  state.reads_outstanding = 0;
  state.read_packets = 0;
  state.since_ack_request = 0;
  state.probing = false;
  qp.round_trip.forget();
  if (qp.congestion) qp.congestion->forget_round_trips();
  if (qp.selective) qp.repeat->sent.go_back(state.unacked, state.sent_end);
}

}  // namespace nerve::nic
