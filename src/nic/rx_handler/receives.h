// Takes a receive for a message: from the QP's own queue, from its SRQ, or from the SRQ that an XRC
// request names.
#pragma once

#include "base/planted.h"
#include "base/slot_table.h"
#include "nic/qp_context/qp.h"
#include "nic/wqe_engine/completion_unit.h"

namespace nerve::nic {

class Receives {
 public:
  Receives(SlotTable<Srq>& srqs, CompletionUnit& completions)
      : srqs_{srqs}, completions_{completions} {}

  // The SRQ that an XRC request names; null when it is not in the QP's domain.
  [[nodiscard]] Srq* find_xrc(const Qp& qp, std::uint32_t number) {
    Srq* srq = number == 0 ? nullptr : srqs_.at(number - 1);
    return srq != nullptr && srq->type == SrqType::kXrc && srq->xrcd == qp.xrcd ? srq : nullptr;
  }

  // Takes a receive for the QP's current message, unless it already has one. Returns false when
  // none is posted.
  bool take(Qp& qp, std::uint32_t xrc_srq) {
    ResponderState& responder = qp.responder;
    if (responder.receive_from != nullptr) return true;
    Srq* srq = qp.type == QpType::kXrcRecv ? find_xrc(qp, xrc_srq) : qp.srq;
    if (planted(Bug::kXrcWrongSrq) && find_xrc(qp, xrc_srq - 1) != nullptr) {
      srq = find_xrc(qp, xrc_srq - 1);
    }
    ReceiveQueue& queue = srq != nullptr ? srq->queue : qp.receives;
    if (queue.empty()) return false;
    responder.receive_slot = queue.take(/*newest=*/srq != nullptr && planted(Bug::kSrqOrder));
    responder.receive_from = &queue;
    responder.receive_srq = srq;
    // The limit event is one-shot (IBTA 10.2.9.2).
    const std::uint32_t early = planted(Bug::kSrqLimitEarly) ? 1 : 0;
    if (srq != nullptr && srq->limit > 0 && queue.size() < srq->limit + early) {
      srq->limit = 0;
      completions_.raise(*srq, EventKind::kSrqLimitReached);
    }
    return true;
  }

 private:
  SlotTable<Srq>& srqs_;
  CompletionUnit& completions_;
};

}  // namespace nerve::nic
