// Selective repeat at the responder: a packet ahead of the expected one is held and reported. The
// rest of the responder sees packets in order.
#include "nic/rx_handler/responder.h"

namespace nerve::nic {

void Responder::hold(Qp& qp, const Packet& packet, std::uint32_t ahead) {
  HeldPackets& held = qp.repeat->held;
  const Psn psn = packet.frame.headers.bth.psn;
  // A packet that cannot be held is NAKed as in go-back-N, and is retransmitted with all that
  // follow.
  const bool fits = ahead < held.window() && packet.frame.payload_length <= qp.mtu;
  trace_refusal(trace_, qp, packet.frame, fits ? TraceRefusal::kHeld : TraceRefusal::kOutOfOrder);
  if (!fits) return nak_sequence_error(qp);
  if (held.has(psn)) {
    ++counters_.duplicates_received;
  } else {
    held.keep(packet.frame, qp.mtu);
  }
  held.queue_report(psn);
  qp.responder.sack_due = true;
  scheduler_.wake(qp);
}

}  // namespace nerve::nic
