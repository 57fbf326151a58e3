#include "nic/wqe_engine/completion_unit.h"

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"

namespace nerve::nic {

WcOpcode completion_opcode(SendOp op) {
  switch (op) {
    case SendOp::kSend:
    case SendOp::kSendImm:
    case SendOp::kSendInvalidate:
      return WcOpcode::kSend;
    case SendOp::kWrite:
    case SendOp::kWriteImm:
      return WcOpcode::kWrite;
    case SendOp::kRead:
      return WcOpcode::kRead;
    case SendOp::kCompareSwap:
      return WcOpcode::kCompareSwap;
    case SendOp::kFetchAdd:
      return WcOpcode::kFetchAdd;
    case SendOp::kAtomicWrite:
      return WcOpcode::kAtomicWrite;
    case SendOp::kFlush:
      return WcOpcode::kFlush;
    case SendOp::kLocalInvalidate:
      return WcOpcode::kLocalInvalidate;
    case SendOp::kBindMw:
      return WcOpcode::kBindMw;
  }
  return WcOpcode::kSend;
}

void CompletionUnit::push(Qp& qp, Cq& cq, const Completion& completion, bool solicited) {
  // Later completions wait for earlier ones. One whose bytes never land is held as well, so that
  // release_landed() reports it.
  if (qp.landing != nullptr && !planted(Bug::kCompletesBeforeLanding)) [[unlikely]] {
    Landing& landing = *qp.landing;
    if (!landing.held.empty() || !has_landed(qp, landing.last)) {
      landing.held.push_back({landing.last, &cq, completion, solicited});
      return core_.scheduler.await_memory(qp);
    }
  }
  push_now(qp, cq, completion, solicited);
}

void CompletionUnit::push_now(Qp& qp, Cq& cq, const Completion& completion, bool solicited) {
  if (cqs_.push(cq, completion, solicited, core_.now)) return;
  // An overrun CQ loses completions, so the QPs that use it cannot continue. In the error state,
  // flushed requests that do not fit are lost with the queue.
  if (qp.state == QpState::kErr) return;
  raise(qp, EventKind::kQpFatal);
  enter_error(qp);
}

void CompletionUnit::finish_send(Qp& qp, WcStatus status) {
  const SendWqe& wqe = qp.sends.oldest();
  const bool report =
      status != WcStatus::kSuccess || qp.signal_all || contains(wqe.flags, SendFlags::kSignaled);
  Completion completion;
  if (report) {
    completion = {.wr_id = wqe.wr_id,
                  .status = status,
                  .opcode = completion_opcode(wqe.op),
                  .bytes = wqe.length,
                  .qpn = qp.qpn,
                  .at = core_.now};
    if (core_.trace != nullptr) [[unlikely]]
      trace_completion(*core_.trace, qp, completion);
  }
  if (qp.sends.cursor == qp.sends.head) {
    ++qp.sends.cursor;
  } else if (wqe.wants_response() && qp.requester.reads_outstanding > 0) {
    --qp.requester.reads_outstanding;
  }
  ++qp.sends.head;
  if (report) push(qp, *qp.send_cq, completion, /*solicited=*/false);
}

void CompletionUnit::finish_receive(Qp& qp, Completion completion, bool solicited) {
  ResponderState& responder = qp.responder;
  CHECK(responder.receive_from != nullptr);
  completion.wr_id = responder.receive_from->at(responder.receive_slot).wr_id;
  completion.qpn = qp.qpn;
  completion.at = core_.now;
  Cq* cq = qp.recv_cq;
  if (responder.receive_srq != nullptr && responder.receive_srq->type == SrqType::kXrc) {
    cq = responder.receive_srq->cq;
    completion.srq_number = responder.receive_srq->number();
  }
  responder.receive_from->give_back(responder.receive_slot);
  responder.receive_from = nullptr;
  responder.receive_srq = nullptr;
  if (core_.trace != nullptr) [[unlikely]]
    trace_completion(*core_.trace, qp, completion);
  if (cq != nullptr) push(qp, *cq, completion, solicited);
}

void CompletionUnit::flush_sends(Qp& qp) {
  while (!qp.sends.empty()) {
    if (planted(Bug::kLoseFlushCompletion) && qp.sends.tail - qp.sends.head == 1) {
      qp.sends.head = qp.sends.cursor = qp.sends.tail;
      return;
    }
    finish_send(qp, WcStatus::kFlushed);
  }
}

void CompletionUnit::flush_receives(Qp& qp) {
  ResponderState& responder = qp.responder;
  if (responder.receive_from != nullptr) {
    finish_receive(qp, {.status = WcStatus::kFlushed, .opcode = WcOpcode::kRecv}, false);
  }
  while (!qp.receives.empty()) {
    responder.receive_slot = qp.receives.take();
    responder.receive_from = &qp.receives;
    finish_receive(qp, {.status = WcStatus::kFlushed, .opcode = WcOpcode::kRecv}, false);
  }
}

void CompletionUnit::offer(Qp& qp) const {
  if (core_.direct_path == nullptr || qp.type != QpType::kRc) return;
  if (!qp.can_receive()) return core_.direct_path->withdraw(qp.qpn);
  core_.direct_path->offer(qp.qpn,
                           {.flow = qp.flow, .peer = qp.peer, .access = qp.access, .pd = qp.pd});
}

void CompletionUnit::enter_error(Qp& qp) {
  if (qp.state == QpState::kErr) return;
  qp.state = QpState::kErr;
  if (core_.trace != nullptr) [[unlikely]]
    trace_state(*core_.trace, qp, TraceStep::kModifyQp);
  offer(qp);
  core_.scheduler.forget(qp);
  qp.requester.retry_at.reset();
  qp.requester.rnr_until.reset();
  qp.requester.pace_at.reset();
  qp.requester.probe_armed = false;
  qp.requester.probe_due = false;
  qp.responder.sack_due = false;
  flush_sends(qp);
  flush_receives(qp);
  if (qp.srq != nullptr || qp.type == QpType::kXrcRecv) raise(qp, EventKind::kQpLastWqeReached);
  if (qp.responder.nak_due) {
    core_.scheduler.wake(qp);
  } else {
    qp.responder.ack_due = false;
    qp.responder.cnp_due = false;
  }
}

void CompletionUnit::fail_send(Qp& qp, WcStatus status) {
  if (qp.reliable()) {
    finish_send(qp, status);
    enter_error(qp);
    return;
  }
  finish_send(qp, status);
  if (!qp.can_send()) return;
  qp.state = QpState::kSqe;
  flush_sends(qp);
}

void CompletionUnit::note_drained(Qp& qp) {
  const bool drained = qp.sends.empty() || (!qp.sends.oldest().started && qp.requester.placed == 0);
  if (qp.state != QpState::kSqd || !drained || qp.requester.drain_noted) return;
  qp.requester.drain_noted = true;
  if (qp.attributes.sqd_notify) raise(qp, EventKind::kSqDrained);
}

void CompletionUnit::raise(const Qp& qp, EventKind kind, std::optional<MtuMismatch> mismatch) {
  events_.push({.kind = kind, .cookie = qp.cookie, .qp = qp.handle, .mismatch = mismatch});
}

void CompletionUnit::raise(const Srq& srq, EventKind kind) {
  srq.events->push({.kind = kind, .cookie = srq.cookie, .srq = srq.handle});
}

}  // namespace nerve::nic
