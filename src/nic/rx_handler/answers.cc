#include "nic/rx_handler/answers.h"

#include <algorithm>

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "wire/selective_nak.h"
#include "wire/syndrome.h"

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

bool Answers::transmit(Qp& qp, TxBurst& burst, std::uint32_t budget) {
  ResponderState& state = qp.responder;
  const std::uint32_t first = burst.size();
  const auto exhausted = [&] { return burst.full() || burst.size() - first >= budget; };

  // In the error state only the NAK that led there is sent, and the responses before it.
  if (qp.state == QpState::kErr && !state.nak_due) return false;
  if (state.cnp_due) {
    if (exhausted()) return true;
    emit_cnp(qp, burst);
  }
  bool continues = false;
  while (ReplayEntry* entry = next_entry(qp)) {
    if (exhausted()) return true;
    continues = emit_entry(qp, *entry, burst, continues);
  }
  return false;
}

bool Answers::acknowledge(Qp& qp, TxBurst& burst) {
  if (!qp.responder.owes_acknowledge()) return false;
  if (burst.full()) return true;
  if (qp.responder.ack_due || qp.responder.nak_due) {
    emit_acknowledge(qp, burst);
  } else {
    emit_selective_nak(qp, burst);
  }
  return qp.responder.sack_due;
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
  bth.dest_qp = qp.attributes.dest_qp;
  bth.psn = psn;
  if (qp.offers_selective) bth.reserved7 = wire::kSelectiveCapable;
  ++counters_.frames_sent;
  return frame;
}

wire::Aeth Answers::positive_aeth(Qp& qp) const {
  ResponderState& state = qp.responder;
  const bool shared = qp.srq != nullptr || qp.type != QpType::kRc;
  const std::uint8_t code = announced_credits(config_.flow_control, shared, qp.receives.size());
  state.zero_credits_sent = code == 0;
  return {.syndrome = wire::syndrome(wire::AckKind::kAck, code), .msn = state.msn};
}

bool Answers::owes_credit_update(const Qp& qp) {
  return qp.responder.zero_credits_sent && qp.can_receive();
}

bool Answers::emit_entry(Qp& qp, ReplayEntry& entry, TxBurst& burst, bool continues) {
  ResponderState& state = qp.responder;
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
    const auto from = dma_.resolve_remote(entry.rkey, {entry.pd, qp.qpn}, entry.address + offset,
                                          length, Access::kRemoteRead);
    if (!from) {
      burst.drop_last();
      --counters_.frames_sent;
      entry.pending = false;
      // The peer already has this response, and this is a replay for a late duplicate of its
      // request. Storage protocols deregister memory as soon as a READ has completed, so this is
      // not an error.
      if (entry.answered_once) return false;
      // No response after this one can be sent.
      state.replay_serve = state.replay_end;
      state.expected = psn;
      state.nak_due = wire::syndrome(wire::NakCode::kRemoteAccess);
      ++counters_.error_naks_sent;
      completions_.raise(qp, EventKind::kQpAccessError);
      completions_.enter_error(qp);
      return false;
    }
    burst.add_piece(*from);
    frame.headers.bth.pad = static_cast<std::uint8_t>((0U - length) & 3U);
    counters_.bytes_sent += length;
  }
  if (config_.trace != nullptr) [[unlikely]]
    trace_answer(*config_.trace, qp, frame);
  frame.continues_train = continues && !first && !last;

  ++entry.next_packet;
  if (last) {
    entry.pending = false;
    if (!entry.answered_once) --state.unanswered;
    entry.answered_once = true;
  }
  // Middle packets have one size; the first and the last carry an AETH and are longer.
  return !first && !last;
}

void Answers::emit_acknowledge(Qp& qp, TxBurst& burst) {
  ResponderState& state = qp.responder;
  const bool is_nak = state.nak_due.has_value();
  // A NAK carries the expected PSN.
  Psn psn = is_nak ? state.expected : state.ack_psn;
  if (planted(Bug::kAckNamesRead) && !is_nak) psn = state.expected + 0xff'ffffU;
  wire::Frame& frame = add_frame(qp, burst, Operation::kAcknowledge, psn);
  frame.headers.aeth =
      is_nak ? wire::Aeth{.syndrome = *state.nak_due, .msn = state.msn} : positive_aeth(qp);
  add_echoes(qp, frame);
  if (config_.trace != nullptr) [[unlikely]]
    trace_answer(*config_.trace, qp, frame);
  state.nak_due.reset();
  state.ack_due = false;
}

void Answers::emit_selective_nak(Qp& qp, TxBurst& burst) {
  ResponderState& state = qp.responder;
  HeldPackets& held = qp.repeat->held;
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
    if (config_.trace != nullptr) [[unlikely]]
      trace_answer(*config_.trace, qp, frame);
    ++counters_.selective_naks_sent;
  }
  state.sack_due = held.has_reports();
}

void Answers::add_echoes(Qp& qp, wire::Frame& frame) {
  ResponderState& state = qp.responder;
  frame.headers.bth.becn = state.ecn_seen;
  if (state.telemetry) frame.telemetry = state.telemetry->hops();
  state.ecn_seen = false;
}

void Answers::emit_cnp(Qp& qp, TxBurst& burst) {
  wire::Frame& frame = burst.add();
  frame.flow = qp.flow;
  frame.headers.bth.opcode = wire::kCnpOpcode;
  frame.headers.bth.pkey = qp.pkey;
  frame.headers.bth.dest_qp = qp.attributes.dest_qp;
  frame.headers.bth.becn = true;
  if (config_.trace != nullptr) [[unlikely]]
    trace_answer(*config_.trace, qp, frame);
  ++counters_.frames_sent;
  ++counters_.cnps_sent;
  qp.responder.cnp_due = false;
}

}  // namespace nerve::nic
