// Selective repeat at the responder: a packet ahead of its turn is kept and told of; the ordinary
// responder sees packets in their order only.
#include "nic/rx_handler/responder.h"

namespace nerve::nic {

void Responder::hold(Qp& qp, const Packet& packet, std::uint32_t ahead) {
  HeldPackets& held = qp.repeat->held;
  const Psn psn = packet.frame.headers.bth.psn;
  // What has no place here is asked for as from any peer, and comes again with all behind it.
  const bool fits = ahead < held.window() && packet.frame.payload_length <= qp.mtu;
  if (!fits) return nak_sequence_error(qp);
  if (held.has(psn)) {
    ++counters_.duplicates_received;
  } else {
    held.keep(packet.frame, qp.mtu);
  }
  held.owe_word(psn);
  qp.responder.sack_due = true;
  scheduler_.wake(qp);
}

}  // namespace nerve::nic
