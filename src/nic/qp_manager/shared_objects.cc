// The objects that queue pairs share: SRQs, XRC domains and address handles.
#include "nic/qp_manager/qp_manager.h"

namespace nerve::nic {

Expected<XrcdHandle> QpManager::alloc_xrcd() {
  if (xrcds_.full()) {
    return refuse(ErrorCode::kLimit, "alloc xrcd: too many", xrcds_.size(),
                  core_.config.limits.max_xrcd);
  }
  return xrcds_.emplace().first;
}

Status QpManager::dealloc_xrcd(XrcdHandle handle) {
  const XrcDomain* xrcd = xrcds_.find(handle);
  if (xrcd == nullptr) return refuse(ErrorCode::kNoSuchObject, "dealloc xrcd: no such domain");
  if (xrcd->users > 0) return refuse(ErrorCode::kBusy, "dealloc xrcd: in use", xrcd->users);
  xrcds_.erase(handle);
  return Done{};
}

Expected<SrqHandle> QpManager::create_srq(const SrqInit& init) {
  const Limits& limits = core_.config.limits;
  if (srqs_.full()) {
    return refuse(ErrorCode::kLimit, "create srq: too many", srqs_.size(), limits.max_srq);
  }
  if (init.max_wr == 0 || init.max_wr > limits.max_srq_wr) {
    return refuse(ErrorCode::kInvalid, "create srq: max_wr out of range", init.max_wr,
                  limits.max_srq_wr);
  }
  if (init.max_sge > limits.max_sge) {
    return refuse(ErrorCode::kInvalid, "create srq: too many scatter/gather entries", init.max_sge,
                  limits.max_sge);
  }
  if (init.limit > init.max_wr) {
    return refuse(ErrorCode::kInvalid, "create srq: limit above max_wr", init.limit, init.max_wr);
  }
  XrcDomain* xrcd = nullptr;
  Cq* cq = nullptr;
  if (init.type == SrqType::kXrc) {
    xrcd = xrcds_.find(init.xrcd);
    cq = cqs_.find(init.cq);
    if (xrcd == nullptr) return refuse(ErrorCode::kNoSuchObject, "create srq: no such XRC domain");
    if (cq == nullptr) return refuse(ErrorCode::kNoSuchObject, "create srq: no such CQ");
  }
  if (!core_.dma.retain_pd(init.pd)) {
    return refuse(ErrorCode::kNoSuchObject, "create srq: no such protection domain");
  }
  auto [handle, srq] = srqs_.emplace();
  srq.queue = ReceiveQueue{init.max_wr, init.max_sge};
  srq.handle = handle;
  srq.pd = init.pd;
  srq.type = init.type;
  srq.limit = init.limit;
  srq.cookie = init.cookie;
  if (init.type == SrqType::kXrc) {
    srq.xrcd = init.xrcd;
    srq.cq = cq;
    ++xrcd->users;
    srq.events = &events_;
    cqs_.add_user(*cq);
  }
  return handle;
}

Status QpManager::set_srq_limit(SrqHandle handle, std::uint32_t limit) {
  Srq* srq = srqs_.find(handle);
  if (srq == nullptr) return refuse(ErrorCode::kNoSuchObject, "modify srq: no such SRQ");
  if (limit > srq->queue.max_wr()) {
    return refuse(ErrorCode::kInvalid, "modify srq: limit above max_wr", limit,
                  srq->queue.max_wr());
  }
  srq->limit = limit;
  return Done{};
}

Expected<SrqQuery> QpManager::query_srq(SrqHandle handle) {
  const Srq* srq = srqs_.find(handle);
  if (srq == nullptr) return refuse(ErrorCode::kNoSuchObject, "query srq: no such SRQ");
  return SrqQuery{.max_wr = srq->queue.max_wr(),
                  .max_sge = srq->queue.max_sge(),
                  .limit = srq->limit,
                  .number = srq->number()};
}

Status QpManager::destroy_srq(SrqHandle handle) {
  Srq* srq = srqs_.find(handle);
  if (srq == nullptr) return refuse(ErrorCode::kNoSuchObject, "destroy srq: no such SRQ");
  if (srq->users > 0) return refuse(ErrorCode::kBusy, "destroy srq: used by QPs", srq->users);
  if (srq->queue.taken() > 0) {
    return refuse(ErrorCode::kBusy, "destroy srq: messages are arriving", srq->queue.taken());
  }
  if (srq->type == SrqType::kXrc) {
    --xrcds_.find(srq->xrcd)->users;
    --srq->cq->users;
  }
  core_.dma.release_pd(srq->pd);
  if (srq->events != nullptr) srq->events->forget(handle);
  srqs_.erase(handle);
  return Done{};
}

Expected<AhHandle> QpManager::create_ah(PdHandle pd, const AddressVector& address) {
  if (addresses_.full()) {
    return refuse(ErrorCode::kLimit, "create ah: too many", addresses_.size(),
                  core_.config.limits.max_ah);
  }
  const Expected<wire::Flow> flow = port_.flow_to(address);
  if (!flow) return Unexpected{flow.error()};
  if (!core_.dma.retain_pd(pd)) {
    return refuse(ErrorCode::kNoSuchObject, "create ah: no such protection domain");
  }
  auto [handle, ah] = addresses_.emplace();
  ah = {.pd = pd, .flow = *flow};
  return handle;
}

Status QpManager::destroy_ah(AhHandle handle) {
  const AddressHandle* ah = addresses_.find(handle);
  if (ah == nullptr) return refuse(ErrorCode::kNoSuchObject, "destroy ah: no such handle");
  core_.dma.release_pd(ah->pd);
  addresses_.erase(handle);
  return Done{};
}

}  // namespace nerve::nic
