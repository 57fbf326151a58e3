// Ends work: turns finished requests into completions, and errors into flushed queues and events.
//
// This is the one place that moves a QP into the error state, so that what must happen then
// (flushing in order, last WQE reached, silence on the wire) happens on every path into it.
#pragma once

#include "base/time.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/qp_manager/qp.h"
#include "nic/wqe_engine/scheduler.h"

namespace nerve::nic {

class CompletionUnit {
 public:
  CompletionUnit(CqManager& cqs, EventQueue& events, Scheduler& scheduler, DirectPath* direct_path,
                 const Time& now)
      : cqs_{cqs}, events_{events}, scheduler_{scheduler}, direct_path_{direct_path}, now_{now} {}

  // Tells the direct path, where there is one, whether the QP takes requests.
  void offer(Qp& qp) const;

  // Ends the oldest send request. On success a completion appears only when it was asked for.
  void finish_send(Qp& qp, WcStatus status);

  // Ends the receive that the message in progress took. `completion` carries what the message
  // says; the unit fills in the rest.
  void finish_receive(Qp& qp, Completion completion, bool solicited);

  // The oldest send request failed: it completes with `status`, and the rest of the QP follows
  // (RC and XRC to the error state, UC and UD to SQE).
  void fail_send(Qp& qp, WcStatus status);

  // To the error state: everything posted is flushed. A NAK that is due still goes out.
  void enter_error(Qp& qp);
  void flush_sends(Qp& qp);
  void flush_receives(Qp& qp);

  // In SQD: tells, once, that every request that was begun has ended.
  void note_drained(Qp& qp);

  void raise(const Qp& qp, EventKind kind);
  void raise(const Srq& srq, EventKind kind);

 private:
  void push(Qp& qp, Cq& cq, const Completion& completion, bool solicited);

  CqManager& cqs_;
  EventQueue& events_;
  Scheduler& scheduler_;
  DirectPath* direct_path_;
  const Time& now_;
};

[[nodiscard]] WcOpcode completion_opcode(SendOp op);

}  // namespace nerve::nic
