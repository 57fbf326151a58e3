#include "nic/qp_manager/qp_manager.h"

#include <algorithm>

#include "nic/qp_context/qp_trace.h"
#include "nic/qp_manager/qp_transitions.h"

namespace nerve::nic {

QpManager::QpManager(Core& core, CqManager& cqs, EventQueue& events, CompletionUnit& completions,
                     const Port& port, MulticastGroups& groups, QpTable& qps,
                     SharedObjects& objects)
    : core_{core},
      cqs_{cqs},
      events_{events},
      completions_{completions},
      port_{port},
      groups_{groups},
      qps_{qps},
      srqs_{objects.srqs},
      addresses_{objects.addresses},
      xrcds_{objects.xrcds} {}

Status QpManager::check_init(const QpInit& init) {
  const Limits& limits = core_.config.limits;
  const QpCaps& caps = init.caps;
  if (qps_.full())
    return refuse(ErrorCode::kLimit, "create qp: too many", qps_.size(), limits.max_qp);
  if (init.type == QpType::kGsi && qps_.has_gsi()) {
    return refuse(ErrorCode::kBusy, "create qp: the GSI QP exists already");
  }
  const auto beyond = [](std::uint32_t value, std::uint32_t limit) { return value > limit; };
  if (beyond(caps.max_send_wr, limits.max_qp_wr) || beyond(caps.max_recv_wr, limits.max_qp_wr)) {
    return refuse(ErrorCode::kInvalid, "create qp: too many work requests",
                  std::max(caps.max_send_wr, caps.max_recv_wr), limits.max_qp_wr);
  }
  if (beyond(caps.max_send_sge, limits.max_sge) || beyond(caps.max_recv_sge, limits.max_sge)) {
    return refuse(ErrorCode::kInvalid, "create qp: too many scatter/gather entries",
                  std::max(caps.max_send_sge, caps.max_recv_sge), limits.max_sge);
  }
  if (beyond(caps.max_inline, limits.max_inline)) {
    return refuse(ErrorCode::kInvalid, "create qp: too much inline data", caps.max_inline,
                  limits.max_inline);
  }
  const bool sends = init.type != QpType::kXrcRecv;
  const bool receives = init.type != QpType::kXrcRecv && init.type != QpType::kXrcSend;
  if (sends && cqs_.find(init.send_cq) == nullptr) {
    return refuse(ErrorCode::kNoSuchObject, "create qp: no such send CQ");
  }
  if (receives && cqs_.find(init.recv_cq) == nullptr) {
    return refuse(ErrorCode::kNoSuchObject, "create qp: no such receive CQ");
  }
  if (init.srq) {
    const Srq* srq = srqs_.find(init.srq);
    if (srq == nullptr) return refuse(ErrorCode::kNoSuchObject, "create qp: no such SRQ");
    const bool fits =
        init.type == QpType::kRc || init.type == QpType::kUc || init.type == QpType::kUd;
    if (!fits || srq->type != SrqType::kBasic) {
      return refuse(ErrorCode::kInvalid, "create qp: this SRQ does not go with this QP type");
    }
  }
  if (init.type == QpType::kXrcRecv && xrcds_.find(init.xrcd) == nullptr) {
    return refuse(ErrorCode::kNoSuchObject, "create qp: no such XRC domain");
  }
  return Done{};
}

Expected<QpHandle> QpManager::create(const QpInit& init) {
  if (const Status ok = check_init(init); !ok) return Unexpected{ok.error()};
  // An XRC target has no protection domain: each request uses that of the SRQ it names.
  const bool has_pd = init.type != QpType::kXrcRecv;
  if (has_pd && !core_.dma.retain_pd(init.pd)) {
    return refuse(ErrorCode::kNoSuchObject, "create qp: no such protection domain");
  }
  Qp& qp = qps_.make(init.type);
  if (has_pd) qp.pd = init.pd;
  qp.signal_all = init.signal_all;
  qp.cookie = init.cookie;
  if (core_.trace != nullptr) [[unlikely]] {
    trace_state(*core_.trace, qp, TraceStep::kCreateQp);
  }
  if (init.type == QpType::kXrcRecv) {
    qp.xrcd = init.xrcd;
    ++xrcds_.find(init.xrcd)->users;
    return qp.handle;
  }
  qp.send_cq = cqs_.find(init.send_cq);
  cqs_.add_user(*qp.send_cq);
  const bool connected = init.type == QpType::kRc || init.type == QpType::kUc;
  qp.sends = SendQueue{init.caps, init.plain && connected};
  if (init.type == QpType::kXrcSend) return qp.handle;
  qp.recv_cq = cqs_.find(init.recv_cq);
  cqs_.add_user(*qp.recv_cq);
  if (init.srq) {
    qp.srq = srqs_.find(init.srq);
    if (qp.srq->events == nullptr) qp.srq->events = &events_;
    ++qp.srq->users;
  } else {
    qp.receives = ReceiveQueue{init.caps.max_recv_wr, init.caps.max_recv_sge};
  }
  return qp.handle;
}

Expected<QpQuery> QpManager::query(QpHandle handle) {
  const Qp* qp = qps_.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "query qp: no such QP");
  QpQuery result{.state = qp->state,
                 .sq_draining = qp->state == QpState::kSqd && !qp->requester.drain_noted,
                 .attributes = qp->attributes,
                 .caps = qp->caps(),
                 .qpn = qp->qpn,
                 .type = qp->type};
  result.attributes.cur_state = qp->state;
  result.attributes.rate_limit = qp->program_rate;
  // Report the current PSNs, not the initial ones.
  if (qp->can_receive()) result.attributes.rq_psn = qp->responder.expected;
  if (qp->can_send()) {
    result.attributes.sq_psn = qp->requester.next;
  }
  return result;
}

void QpManager::forget_completions(Qp& qp) {
  core_.scheduler.forget_landing(qp);
  if (qp.send_cq != nullptr) cqs_.forget(*qp.send_cq, qp.qpn);
  if (qp.recv_cq != nullptr && qp.recv_cq != qp.send_cq) cqs_.forget(*qp.recv_cq, qp.qpn);
}

bool QpManager::completions_wait(Qpn qpn) {
  const Qp* qp = qps_.find(qpn);
  if (qp == nullptr) return false;
  if (qp->landing != nullptr && !qp->landing->held.empty()) return true;
  return (qp->send_cq != nullptr && CqManager::holds(*qp->send_cq, qpn)) ||
         (qp->recv_cq != nullptr && CqManager::holds(*qp->recv_cq, qpn));
}

Status QpManager::destroy(QpHandle handle) {
  Qp* qp = qps_.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "destroy qp: no such QP");
  if (core_.trace != nullptr) [[unlikely]] {
    trace_state(*core_.trace, *qp, TraceStep::kDestroyQp);
  }
  reset(*qp);
  groups_.forget(*qp);
  events_.forget(qp->handle);
  if (qp->send_cq != nullptr) --qp->send_cq->users;
  if (qp->recv_cq != nullptr) --qp->recv_cq->users;
  if (qp->srq != nullptr) --qp->srq->users;
  if (qp->type == QpType::kXrcRecv) --xrcds_.find(qp->xrcd)->users;
  if (qp->pd) core_.dma.release_pd(qp->pd);
  qps_.erase(*qp);
  return Done{};
}

}  // namespace nerve::nic
