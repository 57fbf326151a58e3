// Completes work: turns finished requests into completions, and errors into flushed queues and
// events.
//
// Only this class moves a QP into the error state, so that the required steps (flushing in order,
// last WQE reached, no more packets) are taken on every path into it.
#pragma once

#include "base/time.h"
#include "nic/counters.h"
#include "nic/cq_manager/cq_manager.h"
#include "nic/dma_engine/dma_engine.h"
#include "nic/qp_context/core.h"
#include "nic/qp_context/qp.h"
#include "nic/qp_context/scheduler.h"

namespace nerve::nic {

class Trace;

class CompletionUnit {
 public:
  CompletionUnit(Core& core, CqManager& cqs, EventQueue& events)
      : core_{core}, cqs_{cqs}, events_{events} {}

  // Registers the QP with the direct path, if there is one, while it accepts requests.
  void offer(Qp& qp) const;

  // Completes the oldest send request. On success a completion is written only if it was requested.
  void finish_send(Qp& qp, WcStatus status);

  // Completes the receive of the current message. `completion` carries the contents of the message;
  // the unit fills in the rest.
  void finish_receive(Qp& qp, Completion completion, bool solicited);

  // Late memory (landing.cc). Payload of the QP's peer was written there: what completes from now
  // on waits until it has landed.
  void note_placed(Qp& qp, const Placed& placed) {
    if (placed.late_writes > 0) [[unlikely]]
      note_late_writes(qp, placed);
  }
  // The direct path has begun to copy the payload of a request of the QP's own.
  void note_copied(Qp& qp);
  // Whether the QP's writes up to this ticket have landed. If not, the QP waits for memory.
  [[nodiscard]] bool has_landed(Qp& qp, LateMemory::Ticket last);
  void await_memory(Qp& qp) { core_.scheduler.await_memory(qp); }
  // Completes what has landed. If a write has failed, so does the QP.
  void release_landed(Qp& qp);

  // Fails the oldest send request with `status`, and moves the QP to the error state (RC and XRC)
  // or to SQE (UC and UD).
  void fail_send(Qp& qp, WcStatus status);

  // Moves the QP to the error state and flushes everything posted. A pending NAK is still sent.
  void enter_error(Qp& qp);
  void flush_sends(Qp& qp);
  void flush_receives(Qp& qp);

  // In SQD: reports, once, that every started request has completed.
  void note_drained(Qp& qp);

  void raise(const Qp& qp, EventKind kind, std::optional<MtuMismatch> mismatch = {});
  void raise(const Srq& srq, EventKind kind);

 private:
  void note_late_writes(Qp& qp, const Placed& placed);
  [[nodiscard]] LateMemory::Progress progress_of(const Qp& qp, LateMemory::Ticket last) const;
  void fail_landing(Qp& qp);
  void push_now(Qp& qp, Cq& cq, const Completion& completion, bool solicited);
  void push(Qp& qp, Cq& cq, const Completion& completion, bool solicited);

  Core& core_;
  CqManager& cqs_;
  EventQueue& events_;
};

[[nodiscard]] WcOpcode completion_opcode(SendOp op);

}  // namespace nerve::nic
