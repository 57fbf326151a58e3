// Executes requests on memory. Every check comes before the first byte moves.
#include "base/planted.h"
#include "nic/rx_handler/responder.h"

namespace nerve::nic {

using wire::Operation;

namespace {

// The longest message. A longer READ could also take more than half of the PSNs.
constexpr std::uint32_t kMaxMessage = 1U << 31;

}  // namespace

Verdict Responder::send(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  const wire::Frame& frame = packet.frame;
  if (packet.opens()) {
    if (!receives_.take(qp, frame.headers.xrc_srq)) return Verdict::kNoReceive;
    state.received = 0;
  }
  CHECK(state.receive_from != nullptr);
  const Receive& receive = state.receive_from->at(state.receive_slot);
  std::uint64_t room = receive.capacity - state.received;
  std::span<const wire::Piece> payload = frame.payload;
  if (frame.payload_length > room) {
    if (!planted(Bug::kSkipReceiveLengthCheck)) return Verdict::kTooLong;
    payload = {};
  }
  const bool invalidates = contains(packet.info.headers, wire::HeaderSet::kIeth);
  const RemoteAccessor self{state.pd, qp.qpn};
  if (invalidates && !core_.dma.can_invalidate(frame.headers.invalidate, self)) {
    return Verdict::kRemoteAccess;
  }
  note(qp, packet, TraceStep::kChecked);
  const PdHandle pd = state.receive_srq != nullptr ? state.receive_srq->pd : qp.pd;
  const auto placed = core_.dma.scatter(state.receive_from->sges_of(state.receive_slot),
                                        state.received, payload, pd);
  if (!placed) return Verdict::kRemoteOperation;
  completions_.note_placed(qp, *placed);
  note(qp, packet, TraceStep::kPlaced);
  core_.counters.bytes_received += frame.payload_length;
  state.received += frame.payload_length;
  state.message = ResponderState::Message::kSend;
  if (packet.closes()) {
    state.message = ResponderState::Message::kNone;
    if (invalidates) core_.dma.invalidate(frame.headers.invalidate, self);
    deliver(qp, packet, WcOpcode::kRecv, state.received);
  }
  return Verdict::kAccepted;
}

Verdict Responder::write(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  const wire::Frame& frame = packet.frame;
  const RemoteAccessor self{state.pd, qp.qpn};
  if (packet.opens()) {
    if (!contains(qp.access, Access::kRemoteWrite)) return Verdict::kInvalidRequest;
    const wire::Reth& reth = frame.headers.reth;
    if (reth.length > kMaxMessage) return Verdict::kInvalidRequest;
    // The first packet checks the whole range, before any byte is written.
    if (reth.length > 0 && !core_.dma.resolve_remote(reth.rkey, self, reth.address, reth.length,
                                                     Access::kRemoteWrite)) {
      return Verdict::kRemoteAccess;
    }
    state.received = 0;
    state.write_length = reth.length;
    state.write_address = reth.address;
    state.write_rkey = reth.rkey;
  }
  const std::uint32_t rest = state.write_length - state.received;
  const bool fits = packet.closes() ? frame.payload_length == rest : frame.payload_length < rest;
  const bool placed = frame.placed && packet.opens() && packet.closes();
  if (!fits && !placed) return Verdict::kInvalidRequest;
  const bool takes_receive = contains(packet.info.headers, wire::HeaderSet::kImmDt);
  if (takes_receive) {
    if (!receives_.take(qp, frame.headers.xrc_srq)) return Verdict::kNoReceive;
  }
  if (frame.payload_length > 0) {
    const auto place =
        core_.dma.resolve_remote(state.write_rkey, self, state.write_address + state.received,
                                 frame.payload_length, Access::kRemoteWrite);
    if (!place) return Verdict::kRemoteAccess;
    note(qp, packet, TraceStep::kChecked);
    DmaEngine::place(*place, frame.payload);
    if (core_.dma.is_late(*place)) [[unlikely]]
      completions_.note_placed(
          qp, {static_cast<std::uint32_t>(frame.payload.size()), frame.payload_length});
    note(qp, packet, TraceStep::kPlaced);
  } else {
    note(qp, packet, TraceStep::kChecked);
  }
  core_.counters.bytes_received += frame.payload_length;
  state.received += frame.payload_length;
  state.message = ResponderState::Message::kWrite;
  if (packet.closes()) {
    state.message = ResponderState::Message::kNone;
    if (takes_receive) deliver(qp, packet, WcOpcode::kRecvWriteImm, state.write_length);
  }
  return Verdict::kAccepted;
}

ReplayEntry* Responder::new_replay_entry(Qp& qp) {
  ResponderState& state = qp.responder;
  // Only entries that were never fully answered count: a peer that sends a new request has received
  // the responses that are merely being replayed.
  if (state.unanswered >= qp.attributes.max_dest_read) return nullptr;
  ++state.unanswered;
  ReplayEntry& oldest = state.replay[state.replay_end % state.replay.size()];
  oldest = {};
  oldest.pending = true;
  oldest.pd = state.pd;
  oldest.first_psn = state.expected;
  oldest.packets = 1;
  if (qp.landing != nullptr) qp.landing->before_answer = qp.landing->last;
  if (state.replay_serve == state.replay_end - state.replay.size()) ++state.replay_serve;
  ++state.replay_end;
  return &oldest;
}

Verdict Responder::read(Qp& qp, const Packet& packet) {
  const wire::Reth& reth = packet.frame.headers.reth;
  if (!contains(qp.access, Access::kRemoteRead)) return Verdict::kInvalidRequest;
  if (reth.length > kMaxMessage) return Verdict::kInvalidRequest;
  if (reth.length > 0 &&
      !core_.dma.resolve_remote(reth.rkey, {qp.responder.pd, qp.qpn}, reth.address, reth.length,
                                Access::kRemoteRead)) {
    return Verdict::kRemoteAccess;
  }
  ReplayEntry* entry = new_replay_entry(qp);
  if (entry == nullptr) return Verdict::kInvalidRequest;
  note(qp, packet, TraceStep::kChecked);
  entry->kind = ReplayEntry::Kind::kRead;
  entry->packets = reth.length == 0 ? 1 : (reth.length - 1) / qp.mtu + 1;
  entry->length = reth.length;
  entry->address = reth.address;
  entry->rkey = reth.rkey;
  return Verdict::kAccepted;
}

Verdict Responder::atomic(Qp& qp, const Packet& packet) {
  const wire::AtomicEth& header = packet.frame.headers.atomic;
  if (!contains(qp.access, Access::kRemoteAtomic)) return Verdict::kInvalidRequest;
  if (header.address % 8 != 0) return Verdict::kInvalidRequest;
  const auto place = core_.dma.resolve_remote(header.rkey, {qp.responder.pd, qp.qpn},
                                              header.address, 8, Access::kRemoteAtomic);
  if (!place) return Verdict::kRemoteAccess;
  ReplayEntry* entry = new_replay_entry(qp);
  if (entry == nullptr) return Verdict::kInvalidRequest;
  note(qp, packet, TraceStep::kChecked);
  entry->kind = ReplayEntry::Kind::kAtomic;
  entry->original = packet.info.operation == Operation::kCompareSwap
                        ? DmaEngine::compare_swap(*place, header.compare, header.swap_or_add)
                        : DmaEngine::fetch_add(*place, header.swap_or_add);
  note(qp, packet, TraceStep::kPlaced);
  return Verdict::kAccepted;
}

Verdict Responder::atomic_write(Qp& qp, const Packet& packet) {
  const wire::Reth& reth = packet.frame.headers.reth;
  // An ATOMIC WRITE is an eight-byte WRITE that is stored atomically (IBTA annex A19).
  if (!contains(qp.access, Access::kRemoteWrite)) return Verdict::kInvalidRequest;
  if (reth.length != 8 || reth.address % 8 != 0) return Verdict::kInvalidRequest;
  const auto place = core_.dma.resolve_remote(reth.rkey, {qp.responder.pd, qp.qpn}, reth.address, 8,
                                              Access::kRemoteWrite);
  if (!place) return Verdict::kRemoteAccess;
  if (place->address % 8 != 0) return Verdict::kInvalidRequest;
  ReplayEntry* entry = new_replay_entry(qp);
  if (entry == nullptr) return Verdict::kInvalidRequest;
  entry->kind = ReplayEntry::Kind::kAcknowledgedWrite;
  std::uint64_t value = 0;
  DmaEngine::place({.address = reinterpret_cast<std::uint64_t>(&value), .length = sizeof value},
                   packet.frame.payload);
  note(qp, packet, TraceStep::kChecked);
  DmaEngine::store_word(*place, value);
  note(qp, packet, TraceStep::kPlaced);
  core_.counters.bytes_received += sizeof value;
  return Verdict::kAccepted;
}

Verdict Responder::flush(Qp& qp, const Packet& packet) {
  const wire::Headers& headers = packet.frame.headers;
  constexpr std::uint8_t kGlobal = 1;
  constexpr std::uint8_t kPersistent = 2;
  Access need = Access::kNone;
  if ((headers.feth.placement & kGlobal) != 0) need |= Access::kFlushGlobal;
  if ((headers.feth.placement & kPersistent) != 0) need |= Access::kFlushPersistent;
  if (need == Access::kNone || headers.feth.selectivity > 1) return Verdict::kInvalidRequest;
  const bool whole_region = headers.feth.selectivity == 1;
  const std::uint32_t length = whole_region ? 0 : headers.reth.length;
  // Host memory is coherent: a WRITE is visible to every processor as soon as it is placed, so a
  // flush only has to be permitted and ordered. Persistence is left to memory that offers it.
  if (!core_.dma.resolve_remote(headers.reth.rkey, {qp.responder.pd, qp.qpn}, headers.reth.address,
                                length, need)) {
    return Verdict::kRemoteAccess;
  }
  ReplayEntry* entry = new_replay_entry(qp);
  if (entry == nullptr) return Verdict::kInvalidRequest;
  entry->kind = ReplayEntry::Kind::kAcknowledgedWrite;
  return Verdict::kAccepted;
}

// Answers a duplicate READ, atomic, ATOMIC_WRITE or FLUSH from the replay cache, from the PSN that
// the peer asks for (IBTA 9.7.4.5.2, 9.7.4.5.3).
//
// The request must not be executed again: an atomic would change memory twice. A READ is served
// from memory again, but only if address, key and length match the cached request, since PSNs alone
// could match a stale packet. A request that is no longer cached is dropped.
void Responder::replay(Qp& qp, const Packet& packet) {
  ResponderState& state = qp.responder;
  const std::uint32_t size = state.replay.size();
  const Psn psn = packet.frame.headers.bth.psn;
  for (std::uint32_t age = 1; age <= size; ++age) {
    const std::uint32_t sequence = state.replay_end - age;
    ReplayEntry& entry = state.replay[sequence % size];
    const std::uint32_t into = (psn.value() - entry.first_psn.value()) & 0xff'ffffU;
    if (into >= entry.packets) continue;
    using Kind = ReplayEntry::Kind;
    if (packet.info.operation == Operation::kReadRequest) {
      const wire::Reth& reth = packet.frame.headers.reth;
      const std::uint64_t skipped = std::uint64_t{into} * qp.mtu;
      if (entry.kind != Kind::kRead || reth.rkey != entry.rkey ||
          reth.address != entry.address + skipped || reth.length != entry.length - skipped) {
        return;
      }
    } else if (entry.kind == Kind::kRead) {
      return;
    }
    if (planted(Bug::kExecuteAtomicTwice) && entry.kind == Kind::kAtomic &&
        packet.info.operation == Operation::kFetchAdd) {
      const wire::AtomicEth& header = packet.frame.headers.atomic;
      if (const auto place = core_.dma.resolve_remote(header.rkey, {qp.responder.pd, qp.qpn},
                                                      header.address, 8, Access::kRemoteAtomic)) {
        entry.original = DmaEngine::fetch_add(*place, header.swap_or_add);
      }
    }
    entry.pending = true;
    entry.next_packet = into;
    // Serve the oldest first; completed entries between this one and the end are skipped.
    if (state.replay_end - sequence > state.replay_end - state.replay_serve) {
      state.replay_serve = sequence;
    }
    core_.scheduler.wake(qp);
    return;
  }
}

}  // namespace nerve::nic
