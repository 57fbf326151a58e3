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
  trace_refusal(core_.trace, qp, packet.frame,
                fits ? TraceRefusal::kHeld : TraceRefusal::kOutOfOrder);
  if (!fits) return nak_sequence_error(qp);
  if (held.has(psn)) {
    ++core_.counters.duplicates_received;
  } else {
    held.keep(packet.frame, qp.mtu);
  }
  held.queue_report(psn);
  qp.responder.sack_due = true;
  core_.scheduler.wake(qp);
}

// The payload of a request packet was cut off by a switch: the sender is told at once. A QP without
// selective repeat treats it as a gap.
void Responder::on_trimmed(Qp& qp, const wire::Frame& frame) {
  const Psn psn = frame.headers.bth.psn;
  const std::int32_t ahead = psn.distance_from(qp.responder.expected);
  UltraEthernet* const ultra = qp.ultra();
  if (ultra == nullptr) {
    if (ahead >= 0) nak_sequence_error(qp);
    return;
  }
  HeldPackets& held = qp.repeat->held;
  if (ahead < 0) {  // another copy arrived: acknowledge it again
    ++core_.counters.duplicates_received;
    qp.responder.ack_due = true;
  } else if (static_cast<std::uint32_t>(ahead) >= held.window()) {
    return nak_sequence_error(qp);
  } else if (held.has(psn)) {
    ++core_.counters.duplicates_received;
    held.queue_report(psn);
    qp.responder.sack_due = true;
  } else {
    granter_.note_demand(qp, *ultra, frame);
    ultra->to_report.add({psn, frame.flow.source_port});
    qp.responder.sack_due = true;
  }
  core_.scheduler.wake(qp);
}

void Responder::note_ultra_ethernet(Qp& qp, UltraEthernet& ultra, const wire::Frame& frame) {
  ultra.note_arrival(frame.flow.source_port, frame.flow.ecn() == wire::Ecn::kCongestion);
  granter_.note_demand(qp, ultra, frame);
}

}  // namespace nerve::nic
