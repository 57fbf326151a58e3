// Decodes a frame for QP1 and dispatches its message.
#include <algorithm>
#include <cstring>

#include "nic/connection/connection_manager.h"
#include "nic/qp_context/qp_table.h"

namespace nerve::nic {
namespace {

using MadBytes = std::array<std::byte, wire::CmMad::kSize>;

// Copies the first 256 bytes; false when there are fewer or they cannot be read.
bool gather(const wire::Frame& frame, MadBytes& into) {
  std::size_t filled = 0;
  for (const wire::Piece& piece : frame.payload) {
    const std::size_t some = std::min<std::size_t>(piece.length, into.size() - filled);
    if (some == 0) continue;
    if (piece.port == nullptr) {
      std::memcpy(into.data() + filled, reinterpret_cast<const void*>(piece.address), some);
    } else if (piece.port->has_contents()) {
      piece.port->read(piece.address, MutableBytes{into}.subspan(filled, some));
    } else {
      return false;
    }
    filled += some;
  }
  return filled == into.size();
}

// Distinguishes a repeated message from another with the same IDs. A peer that forges a collision
// harms only itself, so any mixing function will do.
std::uint64_t digest_of(const MadBytes& bytes) {
  std::uint64_t digest = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 8) {
    digest = siphash({digest, at}, load_be<8>(bytes, at));
  }
  return digest;
}

}  // namespace

void ConnectionManager::receive(const wire::Frame& frame, Time now) {
  const wire::Headers& headers = frame.headers;
  if (headers.bth.opcode != wire::opcode(wire::Transport::kUd, wire::Operation::kSendOnly)) {
    ++counters_.dropped_wrong_transport;
    return;
  }
  if (!port_.owns(frame.flow.destination)) {
    ++counters_.dropped_wrong_address;
    return;
  }
  if (!port_.match_pkey(headers.bth.pkey)) {
    ++counters_.dropped_bad_pkey;
    return;
  }
  if (headers.deth.qkey != wire::kGsiQkey) {
    ++counters_.dropped_bad_qkey;
    return;
  }
  ++counters_.mads_received;
  counters_.bytes_received += frame.payload_length;
  MadBytes bytes;
  // Answers go to QP1, so a message from another QP could not be answered.
  if (headers.deth.source_qp != kGsiQpn || !gather(frame, bytes)) {
    ++counters_.mads_bad;
    return;
  }
  const auto mad = wire::CmMad::decode(bytes);
  if (!mad) {
    ++counters_.mads_bad;
    return;
  }
  if (trace_ != nullptr) [[unlikely]] {
    trace_mad(*trace_, TraceStep::kPacketReceived, frame, *mad);
    trace_mad(*trace_, TraceStep::kCmReceive, frame, *mad);
  }
  const Arrival arrival{.flow = frame.flow,
                        .transaction = mad->transaction_id,
                        .digest = digest_of(bytes),
                        .now = now};
  std::visit([&](const auto& message) { on(message, arrival); }, mad->message);
}

}  // namespace nerve::nic
