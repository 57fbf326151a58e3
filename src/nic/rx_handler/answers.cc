#include "nic/rx_handler/answers.h"

#include <algorithm>

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "wire/selective_nak.h"
#include "wire/syndrome.h"
#include "wire/ultra_ethernet.h"

namespace nerve::nic {

using wire::Operation;

namespace {

// A run too far ahead for code 17 is reported by its last packet.
wire::Aeth selective_nak_of(Psn expected, const wire::PsnRun& run) {
  const auto ahead = static_cast<std::uint32_t>(run.first.distance_from(expected));
  if (ahead > wire::kMaxRunStart) return wire::selective_nak(run.first + (run.count - 1));
  return wire::selective_nak(expected, run);
}

}  // namespace

Answers::Turn Answers::transmit(Qp& qp, TxBurst& burst, std::uint32_t budget) {
  ResponderState& state = qp.responder;
  const std::uint32_t first = burst.size();
  const auto exhausted = [&] { return burst.full() || burst.size() - first >= budget; };

  // In the error state only the NAK that led there is sent, and the responses before it.
  if (qp.state == QpState::kErr && !state.nak_due) return Turn::kDone;
  if (state.cnp_due) {
    if (exhausted()) return Turn::kMore;
    emit_cnp(qp, burst);
  }
  Emitted last = Emitted::kAlone;
  while (ReplayEntry* entry = next_entry(qp)) {
    if (exhausted()) return Turn::kMore;
    last = emit_entry(qp, *entry, burst, last == Emitted::kTrain);
    if (last == Emitted::kLater) return Turn::kWaits;
  }
  return Turn::kDone;
}

// While writes keep coming, the newest have never landed. So the ACK reports the state of the
// responder when it became due, and what has come since then is due again.
bool Answers::may_acknowledge(Qp& qp) {
  if (qp.landing == nullptr || planted(Bug::kAcknowledgesBeforeLanding)) return true;
  Landing& landing = *qp.landing;
  const ResponderState& state = qp.responder;
  if (state.nak_due || state.sack_due) return completions_.has_landed(qp, landing.last);
  if (!landing.ack) landing.ack = {.last = landing.last, .psn = state.ack_psn, .msn = state.msn};
  return completions_.has_landed(qp, landing.ack->last);
}

bool Answers::acknowledge(Qp& qp, TxBurst& burst) {
  if (!qp.responder.owes_acknowledge()) return false;
  if (burst.full()) return true;
  if (!may_acknowledge(qp)) return false;
  if (qp.responder.ack_due || qp.responder.nak_due) {
    emit_acknowledge(qp, burst);
  } else {
    emit_selective_nak(qp, burst);
  }
  return qp.responder.sack_due || qp.responder.ack_due;
}

ReplayEntry* Answers::next_entry(Qp& qp) {
  ResponderState& state = qp.responder;
  while (state.replay_serve != state.replay_end) {
    ReplayEntry& entry = state.replay[state.replay_serve % state.replay.size()];
    if (entry.pending) return &entry;
    ++state.replay_serve;
  }
  return nullptr;
}

wire::Frame& Answers::add_frame(Qp& qp, TxBurst& burst, Operation operation, Psn psn) {
  wire::Frame& frame = burst.add();
  frame.flow = qp.flow;
  wire::Bth& bth = frame.headers.bth;
  bth.opcode = wire::opcode(qp.transport(), operation);
  bth.pkey = qp.pkey;
  bth.dest_qp = qp.peer;
  bth.psn = psn;
  if (qp.offers_selective) bth.reserved7 = wire::kSelectiveCapable;
  ++core_.counters.frames_sent;
  return frame;
}

wire::Aeth Answers::positive_aeth(Qp& qp) const {
  ResponderState& state = qp.responder;
  const bool shared = qp.srq != nullptr || qp.type != QpType::kRc;
  const std::uint8_t code =
      announced_credits(core_.config.flow_control, shared, qp.receives.size());
  state.zero_credits_sent = code == 0;
  return {.syndrome = wire::syndrome(wire::AckKind::kAck, code), .msn = state.msn};
}

bool Answers::owes_credit_update(const Qp& qp) {
  return qp.responder.zero_credits_sent && qp.can_receive();
}

Answers::Emitted Answers::emit_entry(Qp& qp, ReplayEntry& entry, TxBurst& burst, bool continues) {
  ResponderState& state = qp.responder;
  // A READ sees the WRITEs before it, and its response acknowledges them.
  if (qp.landing != nullptr && !planted(Bug::kReadOvertakesWrite) &&
      !completions_.has_landed(qp, qp.landing->before_answer)) {
    return Emitted::kLater;
  }
  Psn psn = entry.first_psn + entry.next_packet;
  if (planted(Bug::kAnswerSkipsAtWrap) && psn.value() < entry.first_psn.value()) psn = psn + 1;
  const bool first = entry.next_packet == 0;
  const bool last = entry.next_packet + 1 == entry.packets;

  Operation operation = Operation::kAtomicAcknowledge;
  if (entry.kind != ReplayEntry::Kind::kAtomic) {
    operation = first ? (last ? Operation::kReadResponseOnly : Operation::kReadResponseFirst)
                      : (last ? Operation::kReadResponseLast : Operation::kReadResponseMiddle);
  }
  wire::Frame& frame = add_frame(qp, burst, operation, psn);
  if (first || last) frame.headers.aeth = positive_aeth(qp);
  if (entry.kind == ReplayEntry::Kind::kAtomic) frame.headers.atomic_ack = entry.original;

  const std::uint64_t offset = std::uint64_t{entry.next_packet} * qp.mtu;
  const auto length =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(entry.length - offset, qp.mtu));
  if (entry.kind == ReplayEntry::Kind::kRead && length > 0) {
    // Checked again for each packet: the region may have been deregistered since the request.
    const auto from = core_.dma.resolve_remote(entry.rkey, {entry.pd, qp.qpn},
                                               entry.address + offset, length, Access::kRemoteRead);
    Gathered gathered = Gathered::kFault;
    if (from && core_.dma.is_late(*from)) {
      const LateReader reader{.engine = &core_, .message = response_message(qp, entry.first_psn)};
      gathered = core_.dma.fetch(*from, entry.length - offset - length, burst, reader);
      if (gathered == Gathered::kDone) core_.counters.late_bytes_sent += length;
    } else if (from) {
      burst.add_piece(*from);
      gathered = Gathered::kDone;
    }
    if (gathered == Gathered::kLater) {
      burst.drop_last();
      --core_.counters.frames_sent;
      completions_.await_memory(qp);
      return Emitted::kLater;
    }
    if (gathered == Gathered::kFault) {
      burst.drop_last();
      --core_.counters.frames_sent;
      entry.pending = false;
      // The peer already has this response, and this is a replay for a late duplicate of its
      // request. Storage protocols deregister memory as soon as a READ has completed, so this is
      // not an error.
      if (entry.answered_once) return Emitted::kAlone;
      // No response after this one can be sent.
      state.replay_serve = state.replay_end;
      state.expected = psn;
      state.nak_due = wire::syndrome(wire::NakCode::kRemoteAccess);
      ++core_.counters.error_naks_sent;
      completions_.raise(qp, EventKind::kQpAccessError);
      completions_.enter_error(qp);
      return Emitted::kAlone;
    }
    frame.headers.bth.pad = static_cast<std::uint8_t>((0U - length) & 3U);
    core_.counters.bytes_sent += length;
  }
  if (core_.trace != nullptr) [[unlikely]]
    trace_answer(*core_.trace, qp, frame);
  frame.continues_train = continues && !first && !last;

  ++entry.next_packet;
  if (last) {
    entry.pending = false;
    if (!entry.answered_once) --state.unanswered;
    entry.answered_once = true;
    if (entry.kind == ReplayEntry::Kind::kRead) qp.bytes_sent += entry.length;
  }
  // Middle packets have one size; the first and the last carry an AETH and are longer.
  return !first && !last ? Emitted::kTrain : Emitted::kAlone;
}

void Answers::emit_acknowledge(Qp& qp, TxBurst& burst) {
  ResponderState& state = qp.responder;
  const bool is_nak = state.nak_due.has_value();
  // A NAK carries the expected PSN.
  const Landing::HeldAck* const held =
      qp.landing != nullptr && qp.landing->ack ? &*qp.landing->ack : nullptr;
  Psn psn = is_nak ? state.expected : held != nullptr ? held->psn : state.ack_psn;
  if (planted(Bug::kAckNamesRead) && !is_nak) psn = state.expected + 0xff'ffffU;
  wire::Frame& frame = add_frame(qp, burst, Operation::kAcknowledge, psn);
  frame.headers.aeth =
      is_nak ? wire::Aeth{.syndrome = *state.nak_due, .msn = state.msn} : positive_aeth(qp);
  if (!is_nak && held != nullptr) frame.headers.aeth.msn = held->msn;
  add_echoes(qp, frame);
  if (core_.trace != nullptr) [[unlikely]]
    trace_answer(*core_.trace, qp, frame);
  state.nak_due.reset();
  state.ack_due = false;
  if (held == nullptr) return;
  state.ack_due = !is_nak && held->psn != state.ack_psn;
  qp.landing->first = held->psn + 1;
  qp.landing->ack.reset();
}

void Answers::emit_selective_nak(Qp& qp, TxBurst& burst) {
  ResponderState& state = qp.responder;
  HeldPackets& held = qp.repeat->held;
  UltraEthernet* const ultra = qp.ultra();
  if (ultra != nullptr && emit_of_ultra_ethernet(qp, *ultra, burst)) return;
  std::optional<wire::Aeth> aeth;
  if (qp.offers_selective) {
    if (const auto run = held.next_run(state.expected)) {
      aeth = selective_nak_of(state.expected, *run);
    }
  } else if (const auto arrived = held.next_report()) {
    aeth = wire::selective_nak(*arrived);
  }
  if (aeth) {
    wire::Frame& frame = add_frame(qp, burst, Operation::kAcknowledge, state.expected);
    frame.headers.aeth = *aeth;
    add_echoes(qp, frame);
    if (core_.trace != nullptr) [[unlikely]]
      trace_answer(*core_.trace, qp, frame);
    ++core_.counters.selective_naks_sent;
  }
  state.sack_due = held.has_reports();
}

void Answers::add_echoes(Qp& qp, wire::Frame& frame) {
  ResponderState& state = qp.responder;
  frame.headers.bth.becn = state.ecn_seen;
  if (UltraEthernet* const ultra = qp.ultra()) echo_path(*ultra, frame);
  if (state.telemetry) frame.telemetry = state.telemetry->hops();
  state.ecn_seen = false;
}

// Each packet is answered with the source port that it came with, so that its sender learns about
// its path, and with its mark.
void Answers::echo_path(UltraEthernet& ultra, wire::Frame& frame) {
  frame.headers.bth.becn = ultra.echo_due && ultra.echo_marked;
  if (ultra.echo_due) frame.flow.source_port = ultra.echo;
  ultra.echo_due = false;
}

bool Answers::emit_of_ultra_ethernet(Qp& qp, UltraEthernet& ultra, TxBurst& burst) {
  ResponderState& state = qp.responder;
  const bool trimmed = !ultra.to_report.empty();
  if (!trimmed && !ultra.credit_due) return false;
  wire::Frame& frame = add_frame(qp, burst, Operation::kAcknowledge, state.expected);
  if (trimmed) {
    const TrimmedPacket& packet = ultra.to_report.front();
    frame.headers.aeth = wire::trimmed_nak(packet.psn);
    frame.headers.bth.becn = true;
    frame.flow.source_port = packet.port;
    ultra.to_report.pop();
    ++core_.counters.selective_naks_sent;
  } else {
    frame.headers.aeth = wire::receiver_credit(static_cast<std::uint32_t>(ultra.granted));
    ultra.credit_due = false;
  }
  if (core_.trace != nullptr) [[unlikely]]
    trace_answer(*core_.trace, qp, frame);
  state.sack_due = !ultra.to_report.empty() || ultra.credit_due || qp.repeat->held.has_reports();
  return true;
}

void Answers::emit_cnp(Qp& qp, TxBurst& burst) {
  wire::Frame& frame = burst.add();
  frame.flow = qp.flow;
  frame.headers.bth.opcode = wire::kCnpOpcode;
  frame.headers.bth.pkey = qp.pkey;
  frame.headers.bth.dest_qp = qp.peer;
  frame.headers.bth.becn = true;
  if (core_.trace != nullptr) [[unlikely]]
    trace_answer(*core_.trace, qp, frame);
  ++core_.counters.frames_sent;
  ++core_.counters.cnps_sent;
  qp.responder.cnp_due = false;
}

}  // namespace nerve::nic
