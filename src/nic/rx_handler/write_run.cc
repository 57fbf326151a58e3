// Runs of middle packets, the bulk of a long WRITE.
#include "nic/rx_handler/responder.h"

namespace nerve::nic {
namespace {

// Whether two packets of a message differ only in PSN and payload. The whole flow is compared,
// including the ECN mark, so that a packet with any other difference takes the slow path.
bool repeats(const wire::Frame& model, const wire::Frame& frame) {
  const wire::Bth& a = model.headers.bth;
  const wire::Bth& b = frame.headers.bth;
  return a.opcode == b.opcode && a.dest_qp == b.dest_qp && a.pkey == b.pkey && a.pad == b.pad &&
         a.version == b.version && model.payload_length == frame.payload_length &&
         model.flow == frame.flow;
}

// Copies adjacent payload in one piece, since a link may deliver it that way. Returns the number of
// copies.
std::uint32_t place_together(wire::Piece to, std::span<const wire::Frame> frames) {
  std::uint32_t copies = 0;
  wire::Piece from{};
  const auto copy = [&] {
    to.length = from.length;
    DmaEngine::place(to, {&from, 1});
    to.address += from.length;
    ++copies;
  };
  for (const wire::Frame& frame : frames) {
    for (const wire::Piece& piece : frame.payload) {
      if (piece.port == from.port && piece.address == from.address + from.length) {
        from.length += piece.length;
      } else {
        copy();
        from = piece;
      }
    }
  }
  copy();
  return copies;
}

}  // namespace

std::size_t Responder::continue_write(Qp& qp, std::span<const wire::Frame> frames) {
  ResponderState& state = qp.responder;
  if (state.message != ResponderState::Message::kWrite || !qp.reliable()) return 0;
  // The next packet may be a held one; with Ultra Ethernet each is answered for its own path.
  if (qp.selective && (!qp.repeat->held.empty() || qp.repeat->ultra)) return 0;
  const wire::Frame& model = frames.front();
  if (model.headers.bth.psn + 1 != state.expected || model.payload_length != qp.mtu) return 0;

  // A middle packet leaves at least one byte for the last one.
  const std::uint32_t rest = state.write_length - state.received;
  const std::size_t most = (rest - 1) / qp.mtu;
  std::size_t count = 0;
  bool ack_requested = false;
  while (count < most && count + 1 < frames.size()) {
    const wire::Frame& frame = frames[count + 1];
    if (!repeats(model, frame)) break;
    if (frame.headers.bth.psn != state.expected + static_cast<std::uint32_t>(count)) break;
    ack_requested |= frame.headers.bth.ack_request;
    ++count;
  }
  if (count == 0) return 0;
  const auto bytes = static_cast<std::uint32_t>(count) * qp.mtu;
  const auto place =
      core_.dma.resolve_remote(state.write_rkey, {state.pd, qp.qpn},
                               state.write_address + state.received, bytes, Access::kRemoteWrite);
  if (!place) return 0;  // the slow path determines which packet is at fault
  const std::uint32_t copies = place_together(*place, frames.subspan(1, count));
  if (core_.dma.is_late(*place)) [[unlikely]]
    completions_.note_placed(qp, {copies, bytes});
  if (traces_messages(core_.trace, qp)) [[unlikely]] {
    for (const wire::Frame& frame : frames.subspan(1, count)) {
      trace_arrival(*core_.trace, qp, frame, /*is_response=*/false);
      trace_message(*core_.trace, qp, TraceStep::kChecked, frame);
      trace_message(*core_.trace, qp, TraceStep::kPlaced, frame);
    }
  }
  core_.counters.frames_received += count;
  core_.counters.bytes_received += bytes;
  state.received += bytes;
  state.expected = state.expected + static_cast<std::uint32_t>(count);
  state.ack_psn = state.expected + 0xff'ffffU;
  if (ack_requested) {
    state.ack_due = true;
    core_.scheduler.wake(qp);
  }
  return count;
}

}  // namespace nerve::nic
