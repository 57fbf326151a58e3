// Requests that send no packet: LOCAL_INV and memory window binds.
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {

bool Requester::local_must_wait(const Qp& qp, const SendWqe& wqe) {
  if (wqe.started) return false;
  if (contains(wqe.flags, SendFlags::kFence) && qp.requester.reads_outstanding > 0) return true;
  // Earlier requests may still need the memory window for a retransmission (IBTA 10.6.5).
  return wqe.op == SendOp::kLocalInvalidate && qp.sends.cursor != qp.sends.head;
}

Requester::Step Requester::run_local(Qp& qp, SendWqe& wqe) {
  if (wqe.started) {  // executed before a retransmission moved the cursor back
    ++qp.sends.cursor;
    return Step::kSkipped;
  }
  if (qp.state == QpState::kSqd || local_must_wait(qp, wqe)) return Step::kBlocked;
  const RemoteAccessor self{qp.pd, qp.qpn};
  if (wqe.op == SendOp::kLocalInvalidate) {
    // The standard's "Memory Management Operation Error" is called MW_BIND_ERR in verbs
    // (IBTA 11.6.2).
    if (!core_.dma.invalidate(wqe.rkey, self)) wqe.fault = WcStatus::kMwBind;
  } else if (const auto bound = core_.dma.bind(qp.sends.extra_of(wqe).bind, self); !bound) {
    wqe.fault = bound.error();
  }
  if (wqe.fault != WcStatus::kSuccess) {
    fault(qp, wqe, wqe.fault);
    return Step::kBlocked;
  }
  wqe.started = true;
  wqe.first_psn = qp.requester.next;
  ++qp.sends.cursor;
  retire_local(qp);
  return Step::kSkipped;
}

void Requester::retire_local(Qp& qp) {
  SendQueue& sends = qp.sends;
  while (!sends.empty() && sends.oldest().is_local() && sends.oldest().started) {
    completions_.finish_send(qp, WcStatus::kSuccess);
  }
  completions_.note_drained(qp);
}

}  // namespace nerve::nic
