// Late memory: completions and acknowledgements wait until the bytes that they report have landed.
#include <algorithm>

#include "base/planted.h"
#include "nic/wqe_engine/completion_unit.h"
#include "wire/syndrome.h"

namespace nerve::nic {

using Progress = LateMemory::Progress;

void CompletionUnit::note_late_writes(Qp& qp, const Placed& placed) {
  core_.counters.late_bytes_received += placed.late_bytes;
  core_.scheduler.landing_of(qp).wrote(placed.late_writes, core_.late_memory->written(),
                                       qp.responder.expected);
  core_.scheduler.await_memory(qp);
}

void CompletionUnit::note_copied(Qp& qp) {
  Landing& landing = core_.scheduler.landing_of(qp);
  landing.wrote(1, core_.late_memory->written(), qp.responder.expected);
  landing.direct = landing.last;
  core_.scheduler.await_memory(qp);
}

Progress CompletionUnit::progress_of(const Qp& qp, LateMemory::Ticket last) const {
  if (qp.landing == nullptr || last <= qp.landing->settled) return Progress::kDone;
  return core_.late_memory->landed(qp.landing->settled, last);
}

bool CompletionUnit::has_landed(Qp& qp, LateMemory::Ticket last) {
  if (progress_of(qp, last) == Progress::kDone) return true;
  core_.scheduler.await_memory(qp);
  return false;
}

void CompletionUnit::release_landed(Qp& qp) {
  Landing& landing = *qp.landing;
  while (!landing.held.empty()) {
    const Progress progress = progress_of(qp, landing.held.front().last);
    if (progress == Progress::kLater) return core_.scheduler.await_memory(qp);
    Landing::HeldCompletion held = landing.held.front();
    landing.held.pop_front();
    landing.settled = std::max(landing.settled, held.last);
    held.completion.at = core_.now;
    if (progress == Progress::kFailed && held.completion.status == WcStatus::kSuccess) {
      held.completion.status = WcStatus::kLocalProtection;
    }
    push_now(qp, *held.cq, held.completion, held.solicited);
    if (progress == Progress::kFailed) fail_landing(qp);
  }
  switch (progress_of(qp, landing.last)) {
    case Progress::kDone:
      landing.settled = landing.last;
      break;
    case Progress::kLater:
      core_.scheduler.await_memory(qp);
      break;
    case Progress::kFailed:
      fail_landing(qp);
      break;
  }
}

// The peer must not be told that its data has arrived.
void CompletionUnit::fail_landing(Qp& qp) {
  qp.landing->settled = qp.landing->last;
  qp.landing->ack.reset();
  if (qp.state == QpState::kErr) return;
  if (qp.reliable()) {
    qp.responder.nak_due = wire::syndrome(wire::NakCode::kRemoteOperation);
    qp.responder.expected = qp.landing->first;  // a NAK acknowledges what is before it
  }
  raise(qp, EventKind::kQpRequestError);
  enter_error(qp);
}

}  // namespace nerve::nic
