// What the completer makes of the MSNs of answers (message_numbers.h).
#include "nic/wqe_engine/message_numbers.h"
#include "nic/wqe_engine/completer.h"
#include "wire/syndrome.h"

namespace nerve::nic {

namespace {

// The SSN of the last message that was acknowledged: the one before the oldest in flight.
std::uint32_t last_acknowledged(Qp& qp) {
  std::uint32_t oldest = qp.requester.next_sequence;
  for (std::uint32_t position = qp.sends.head; position != qp.sends.tail; ++position) {
    const SendWqe& wqe = qp.sends.at(position);
    if (wqe.is_local()) continue;
    if (wqe.started) oldest = wqe.sequence;
    break;
  }
  return oldest + 0xff'ffffU;
}

}  // namespace

bool Completer::fits(Qp& qp, std::uint32_t msn) {
  return qp.requester.peer_msn == PeerMsn::kDiffers ||
         msn_fits(last_acknowledged(qp), qp.requester.next_sequence, msn);
}

bool Completer::accepts_msn(Qp& qp, std::uint32_t msn) {
  if (fits(qp, msn)) return true;
  if (qp.requester.peer_msn == PeerMsn::kUnknown) {
    qp.requester.peer_msn = PeerMsn::kDiffers;
    return true;
  }
  drop_answer();
  return false;
}

void Completer::learn_msn(Qp& qp, std::uint32_t head_before, std::uint32_t msn) {
  PeerMsn& peer = qp.requester.peer_msn;
  if (peer != PeerMsn::kUnknown || qp.sends.head == head_before) return;
  peer = fits(qp, msn) ? PeerMsn::kCounts : PeerMsn::kDiffers;
}

void Completer::note_late_credits(Qp& qp, const wire::Aeth& aeth) {
  RequesterState& state = qp.requester;
  // Its MSN may be an old one, but not ahead of what was begun: all later credits would seem old.
  const Psn begun{state.next_sequence + 0xff'ffffU};
  if (state.peer_msn == PeerMsn::kCounts && Psn{aeth.msn}.distance_from(begun) > 0) {
    return drop_answer();
  }
  state.credits.on_ack(aeth.msn, wire::value_of(aeth.syndrome));
}

}  // namespace nerve::nic
