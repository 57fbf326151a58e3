#include "nic/rx_handler/responder.h"

#include "base/planted.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

using wire::NakCode;
using wire::Operation;

namespace {

bool is_send(Operation operation) {
  switch (operation) {
    case Operation::kSendFirst:
    case Operation::kSendMiddle:
    case Operation::kSendLast:
    case Operation::kSendLastImm:
    case Operation::kSendOnly:
    case Operation::kSendOnlyImm:
    case Operation::kSendLastInvalidate:
    case Operation::kSendOnlyInvalidate:
      return true;
    default:
      return false;
  }
}

bool is_write(Operation operation) {
  return operation >= Operation::kWriteFirst && operation <= Operation::kWriteOnlyImm;
}

// Wrong keys over UC: so many at once, and one per interval after that.
constexpr std::uint32_t kWrongKeys = 16;
constexpr Duration kWrongKeyInterval = Duration{std::chrono::seconds{1}} / kWrongKeys;

bool has_immediate(const wire::OpcodeInfo& info) {
  return contains(info.headers, wire::HeaderSet::kImmDt);
}

TraceRefusal refusal_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kNoReceive:
      return TraceRefusal::kNoReceive;
    case Verdict::kMtuMismatch:
      return TraceRefusal::kMtuMismatch;
    case Verdict::kRemoteAccess:
      return TraceRefusal::kRemoteAccess;
    case Verdict::kRemoteOperation:
      return TraceRefusal::kRemoteOperation;
    case Verdict::kTooLong:
      return TraceRefusal::kTooLong;
    case Verdict::kAccepted:
    case Verdict::kDropped:
      return TraceRefusal::kDropped;
    case Verdict::kInvalidRequest:
      break;
  }
  return TraceRefusal::kInvalidRequest;
}

bool has_invalidate(const wire::OpcodeInfo& info) {
  return contains(info.headers, wire::HeaderSet::kIeth);
}

}  // namespace

void Responder::on_request(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info) {
  const Packet packet{frame, info};
  if (qp.reliable()) {
    on_reliable(qp, packet);
  } else {
    note_arrival(qp, frame);
    on_unreliable(qp, packet);
  }
}

void Responder::note_arrival(Qp& qp, const wire::Frame& frame) {
  ResponderState& state = qp.responder;
  if (qp.state == QpState::kRtr && !state.established_raised) {
    state.established_raised = true;
    completions_.raise(qp, EventKind::kCommEstablished);
  }
  if (frame.flow.ecn() == wire::Ecn::kCongestion) state.ecn_seen = true;
}

// A request ahead by more than the window follows a READ that was lost, if it is genuine; then the
// peer's timer recovers it. A duplicate of a READ or atomic may be behind by the length of the
// response and is compared with the replay cache.
bool Responder::is_far(std::int32_t ahead, const wire::OpcodeInfo& info) {
  constexpr auto kWindow = static_cast<std::int32_t>(kWidestWindow);
  if (ahead >= -kWindow && ahead <= kWindow) [[likely]]
    return false;
  return ahead > 0 || is_send(info.operation) || is_write(info.operation);
}

// Inlining is forced: with two callers, the compiler would add a call for every packet.
[[gnu::always_inline]] inline bool Responder::take_in_order(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  state.gap_reported = false;
  state.nak_due.reset();  // a pending NAK asked for this packet
  Verdict verdict = Verdict::kInvalidRequest;
  if (in_sequence(qp, packet)) {
    verdict = length_fits(qp, packet) ? execute(qp, packet) : wrong_length(packet);
  }
  if (verdict == Verdict::kAccepted) {
    accept(qp, packet);
    return true;
  }
  refuse(qp, packet, verdict);
  return false;
}

void Responder::on_reliable(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  const std::int32_t ahead = packet.frame.headers.bth.psn.distance_from(state.expected);
  if (is_far(ahead, packet.info) && !planted(Bug::kFarRequestAnswered)) [[unlikely]] {
    ++core_.counters.dropped_bad_psn;
    return trace_refusal(core_.trace, qp, packet.frame, TraceRefusal::kOutOfOrder);
  }
  note_arrival(qp, packet.frame);
  if (UltraEthernet* const ultra = qp.ultra()) note_ultra_ethernet(qp, *ultra, packet.frame);
  const bool wrongly_taken = planted(Bug::kAcceptWrongPsn) && ahead == 1;
  if (ahead > 0 && !wrongly_taken) {
    ++core_.counters.out_of_order_received;
    if (qp.selective) return hold(qp, packet, static_cast<std::uint32_t>(ahead));
    trace_refusal(core_.trace, qp, packet.frame, TraceRefusal::kOutOfOrder);
    return nak_sequence_error(qp);
  }
  if (ahead < 0) {
    const bool executed_again = planted(Bug::kSkipDuplicateCheck) && ahead == -1 &&
                                packet.info.position == wire::Position::kOnly &&
                                is_send(packet.info.operation);
    const bool stale = planted(Bug::kTakesStalePacket) && state.expected == qp.attributes.rq_psn;
    if (!executed_again && !stale) return on_duplicate(qp, packet);
  }
  const bool taken = take_in_order(qp, packet);
  if (qp.selective && taken) execute_held(qp);
}

void Responder::nak_sequence_error(Qp& qp) {
  if (qp.responder.gap_reported) return;  // one NAK per gap (IBTA 9.7.5.2)
  qp.responder.gap_reported = true;
  ++core_.counters.sequence_naks_sent;
  schedule_nak(qp, wire::syndrome(NakCode::kSequence));
}

void Responder::execute_held(Qp& qp) {
  HeldPackets& held = qp.repeat->held;
  while (qp.can_receive()) {
    const auto frame = held.take(qp.responder.expected);
    if (!frame) return;
    // A rejected packet is discarded: the NAK makes the peer retransmit it or fail.
    if (!take_in_order(qp, {*frame, *wire::find_opcode(frame->headers.bth.opcode)})) return;
  }
}

void Responder::on_unreliable(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  const Psn psn = packet.frame.headers.bth.psn;
  if (is_barred(qp, packet)) [[unlikely]] {
    ++core_.counters.dropped_barred;
    trace_refusal(core_.trace, qp, packet.frame, TraceRefusal::kRemoteAccess);
    state.expected = psn + 1;
    state.message = ResponderState::Message::kNone;
    state.skipping = !packet.closes();
    return;
  }
  if (psn != state.expected) {
    ++core_.counters.out_of_order_received;
    trace_refusal(core_.trace, qp, packet.frame, TraceRefusal::kOutOfOrder);
    // A gap ends the current message; its receive is kept for the next one (IBTA 9.8.2.2).
    state.message = ResponderState::Message::kNone;
    state.skipping = true;
  }
  state.expected = psn + 1;
  if (packet.opens()) {
    state.message = ResponderState::Message::kNone;
    state.skipping = false;
  }
  if (state.skipping) return;
  Verdict verdict = Verdict::kDropped;
  if (in_sequence(qp, packet) && length_fits(qp, packet)) verdict = execute(qp, packet);
  if (verdict == Verdict::kAccepted) {
    if (traces_messages(core_.trace, qp) && packet.closes()) [[unlikely]]
      count_message(*core_.trace, qp);
    return;
  }
  trace_refusal(core_.trace, qp, packet.frame, refusal_of(verdict));
  if (verdict == Verdict::kNoReceive) ++core_.counters.dropped_no_receive;
  if (verdict == Verdict::kRemoteAccess) note_wrong_key(qp);
  // A receive that cannot hold the message is a local error and would fail the next message too.
  const bool too_long = verdict == Verdict::kTooLong;
  if (too_long || verdict == Verdict::kRemoteOperation) {
    const WcStatus status = too_long ? WcStatus::kLocalLength : WcStatus::kLocalProtection;
    completions_.finish_receive(qp, {.status = status, .opcode = WcOpcode::kRecv}, true);
    return completions_.enter_error(qp);
  }
  state.message = ResponderState::Message::kNone;
  state.skipping = !packet.closes();
}

// UC answers nothing, so a wrong key does not end the connection, as it does with RC. Without a
// limit, a stranger could try keys at line rate. SENDs need no key, and the other packets of a
// WRITE follow one that was checked.
bool Responder::is_barred(const Qp& qp, const Packet& packet) const {
  return packet.opens() && is_write(packet.info.operation) &&
         !qp.responder.wrong_keys.has_token(kWrongKeyInterval, kWrongKeys, core_.now);
}

void Responder::note_wrong_key(Qp& qp) {
  (void)qp.responder.wrong_keys.take(kWrongKeyInterval, kWrongKeys, core_.now);
}

bool Responder::in_sequence(const Qp& qp, const Packet& packet) {
  using Message = ResponderState::Message;
  const Message message = qp.responder.message;
  if (packet.opens()) return message == Message::kNone;
  return message == (is_send(packet.info.operation) ? Message::kSend : Message::kWrite);
}

bool Responder::length_fits(const Qp& qp, const Packet& packet) {
  const std::uint32_t length = packet.frame.payload_length;
  if (packet.frame.headers.bth.pad != wire::pad_for(length)) return false;
  switch (packet.info.length) {
    case wire::LengthRule::kNoPayload:
      return length == 0;
    case wire::LengthRule::kExactlyMtu:
      return length == qp.mtu;
    case wire::LengthRule::kOneToMtu:
      return length >= 1 && length <= qp.mtu;
    case wire::LengthRule::kUpToMtu:
      return length <= qp.mtu;
    case wire::LengthRule::kEightBytes:
      return length == 8;
  }
  return false;
}

// The reason why length_fits() said no.
Verdict Responder::wrong_length(const Packet& packet) {
  const bool by_mtu = packet.info.length == wire::LengthRule::kExactlyMtu ||
                      packet.info.length == wire::LengthRule::kOneToMtu ||
                      packet.info.length == wire::LengthRule::kUpToMtu;
  const std::uint32_t length = packet.frame.payload_length;
  const bool padded = packet.frame.headers.bth.pad == wire::pad_for(length);
  return by_mtu && padded && length > 0 ? Verdict::kMtuMismatch : Verdict::kInvalidRequest;
}

Verdict Responder::execute(Qp& qp, const Packet& packet) {
  if (qp.type == QpType::kXrcRecv) {
    const Srq* srq = receives_.find_xrc(qp, packet.frame.headers.xrc_srq);
    if (srq == nullptr) return Verdict::kInvalidRequest;
    // The SRQ belongs to the message, not to the packet.
    if (packet.opens()) qp.responder.xrc_srq = srq->number();
    if (srq->number() != qp.responder.xrc_srq) return Verdict::kInvalidRequest;
    qp.responder.pd = srq->pd;
  }
  if (is_send(packet.info.operation)) return send(qp, packet);
  if (is_write(packet.info.operation)) return write(qp, packet);
  switch (packet.info.operation) {
    case Operation::kReadRequest:
      return read(qp, packet);
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      return atomic(qp, packet);
    case Operation::kAtomicWrite:
      return atomic_write(qp, packet);
    case Operation::kFlush:
      return flush(qp, packet);
    default:
      return Verdict::kInvalidRequest;
  }
}

void Responder::accept(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  const bool answered_by_entry = packet.info.operation == Operation::kReadRequest ||
                                 packet.info.operation == Operation::kCompareSwap ||
                                 packet.info.operation == Operation::kFetchAdd ||
                                 packet.info.operation == Operation::kAtomicWrite ||
                                 packet.info.operation == Operation::kFlush;
  if (answered_by_entry) {
    const ReplayEntry& entry = state.replay[(state.replay_end - 1) % state.replay.size()];
    state.expected = state.expected + entry.packets;
    state.ack_due = false;  // the response acknowledges all requests before it (IBTA 9.7.5.1.1)
    core_.scheduler.wake(qp);
  } else {
    state.ack_psn = state.expected;
    state.expected = state.expected + 1;
  }
  const bool counted = !(planted(Bug::kMsnNotCounted) && is_write(packet.info.operation));
  if (traces_messages(core_.trace, qp) && packet.closes()) [[unlikely]]
    count_message(*core_.trace, qp);
  if (packet.closes() && counted) state.msn = (state.msn + 1) & 0xff'ffffU;
  if (!answered_by_entry && packet.frame.headers.bth.ack_request) {
    state.ack_due = true;
    core_.scheduler.wake(qp);
  }
}

void Responder::refuse(Qp& qp, const Packet& packet, Verdict verdict) {
  ResponderState& state = qp.responder;
  trace_refusal(core_.trace, qp, packet.frame, refusal_of(verdict));
  const auto fatal = [&](NakCode code, EventKind event, std::optional<MtuMismatch> mismatch = {}) {
    ++core_.counters.error_naks_sent;
    schedule_nak(qp, wire::syndrome(code));
    completions_.raise(qp, event, mismatch);
    completions_.enter_error(qp);
  };
  switch (verdict) {
    case Verdict::kAccepted:
    case Verdict::kDropped:
      return;
    case Verdict::kNoReceive:
      ++core_.counters.rnr_naks_sent;
      state.gap_reported = true;  // packets behind this one are out of order because of it
      return schedule_nak(qp, wire::syndrome(wire::AckKind::kRnrNak, qp.attributes.min_rnr_timer));
    case Verdict::kInvalidRequest:
      return fatal(NakCode::kInvalidRequest, EventKind::kQpRequestError);
    case Verdict::kMtuMismatch:
      return fatal(
          NakCode::kInvalidRequest, EventKind::kQpRequestError,
          MtuMismatch{.qpn = qp.qpn, .payload = packet.frame.payload_length, .mtu = qp.mtu});
    case Verdict::kRemoteAccess:
      // A WRITE with immediate takes a receive, which completes with a local access error (IBTA
      // 11.6.2). If the message has several packets, only the last one takes it; a bad key in the
      // first packet ends the connection before that.
      if (is_write(packet.info.operation) && has_immediate(packet.info) &&
          receives_.take(qp, packet.frame.headers.xrc_srq)) {
        completions_.finish_receive(
            qp, {.status = WcStatus::kLocalAccess, .opcode = WcOpcode::kRecvWriteImm}, true);
      }
      return fatal(NakCode::kRemoteAccess, EventKind::kQpAccessError);
    case Verdict::kTooLong:
      completions_.finish_receive(qp, {.status = WcStatus::kLocalLength, .opcode = WcOpcode::kRecv},
                                  true);
      return fatal(NakCode::kInvalidRequest, EventKind::kQpRequestError);
    case Verdict::kRemoteOperation:
      if (state.receive_from != nullptr && is_send(packet.info.operation)) {
        completions_.finish_receive(
            qp, {.status = WcStatus::kLocalProtection, .opcode = WcOpcode::kRecv}, true);
      }
      return fatal(NakCode::kRemoteOperation, EventKind::kQpRequestError);
  }
}

void Responder::schedule_nak(Qp& qp, std::uint8_t nak_syndrome) {
  qp.responder.nak_due = nak_syndrome;
  core_.scheduler.wake(qp);
}

void Responder::deliver(Qp& qp, const Packet& packet, WcOpcode opcode, std::uint32_t bytes) {
  Completion completion{.opcode = opcode, .bytes = bytes};
  if (has_immediate(packet.info)) {
    completion.flags |= WcFlags::kImmediate;
    completion.immediate = packet.frame.headers.immediate;
  } else if (has_invalidate(packet.info)) {
    completion.flags |= WcFlags::kInvalidate;
    completion.immediate = packet.frame.headers.invalidate.value();
  }
  completion.source_qpn = qp.peer;
  completion.service_level = qp.attributes.path.service_level;
  completions_.finish_receive(qp, completion, packet.frame.headers.bth.solicited);
}

void Responder::on_duplicate(Qp& qp, const Packet& packet) {
  ++core_.counters.duplicates_received;
  trace_refusal(core_.trace, qp, packet.frame, TraceRefusal::kDuplicate);
  if (is_send(packet.info.operation) || is_write(packet.info.operation)) {
    // Acknowledge again: the ACK was lost, or the peer is retransmitting (IBTA 9.7.5.1.3).
    qp.responder.ack_due = true;
    core_.scheduler.wake(qp);
    return;
  }
  replay(qp, packet);
}

}  // namespace nerve::nic
