// Shared receive queues, basic and XRC.
#include "verbs/srq.h"

#include <array>
#include <cerrno>
#include <new>

#include "verbs/cq.h"
#include "verbs/pd.h"

namespace nerve::verbs {
namespace {

// `cq` is the CQ of an XRC SRQ, otherwise null.
ibv_srq* make_srq(ibv_pd* pd, void* srq_context, ibv_srq_attr& attr, nic::SrqInit init,
                  ibv_cq* cq) {
  if (const int error = check_live(pd); error != 0) return none(error);
  auto made = std::unique_ptr<VerbsSrq>{new (std::nothrow) VerbsSrq};
  if (!made) return none(ENOMEM);
  made->adapter = ours(pd->context).adapter.get();
  init.pd = ours(pd).handle;
  init.max_wr = attr.max_wr;
  init.max_sge = attr.max_sge;
  // A limit given at creation does not arm the event: programs arm it with ibv_modify_srq.
  init.limit = 0;
  init.cookie = made->events.cookie();
  const auto handle = Session(*made->adapter, Session::For::kObjects)->create_srq(init);
  if (!handle) return none(refused(pd->context, handle.error()));
  made->handle = *handle;
  if (cq != nullptr) {  // XRC
    std::array<host::ShardChoice*, 2> parts{&made->shard, &ours(cq).shard};
    (void)made->adapter->place(parts, /*in_primary=*/true);
  }
  ibv_srq& srq = made->srq;
  srq.context = pd->context;
  srq.srq_context = srq_context;
  srq.pd = pd;
  srq.handle = handle->index;
  ::pthread_mutex_init(&srq.mutex, nullptr);
  ::pthread_cond_init(&srq.cond, nullptr);
  add_live(srq);
  return &made.release()->srq;
}

void wait_for_acks(VerbsSrq& mine) {
  ibv_srq& srq = mine.srq;
  // In a forked child the thread that would acknowledge does not exist.
  if (ours(srq.context).async.inherited()) return;
  ::pthread_mutex_lock(&srq.mutex);
  while (srq.events_completed != mine.async_reported) ::pthread_cond_wait(&srq.cond, &srq.mutex);
  ::pthread_mutex_unlock(&srq.mutex);
}

}  // namespace

void SrqEvents::on_event(const nic::Event& event) {
  ours(owner.srq.context)
      .async.push({.type = event_type(event.kind),
                   .element = &owner.srq,
                   .reported = &owner.async_reported});
}

ibv_srq* create_srq_ex(ibv_context* /*context*/, ibv_srq_init_attr_ex* attr) noexcept {
  constexpr std::uint32_t kKnown = IBV_SRQ_INIT_ATTR_RESERVED - 1;
  const auto has = [&](std::uint32_t bit) { return (attr->comp_mask & bit) != 0; };
  if ((attr->comp_mask & ~kKnown) != 0) return none(EINVAL);
  const ibv_srq_type type = has(IBV_SRQ_INIT_ATTR_TYPE) ? attr->srq_type : IBV_SRQT_BASIC;
  if (!has(IBV_SRQ_INIT_ATTR_PD) || attr->pd == nullptr) return none(EINVAL);
  nic::SrqInit init{};
  switch (type) {
    case IBV_SRQT_BASIC:
      break;
    case IBV_SRQT_XRC:
      if (!has(IBV_SRQ_INIT_ATTR_XRCD) || !has(IBV_SRQ_INIT_ATTR_CQ)) return none(EINVAL);
      if (attr->xrcd == nullptr || attr->cq == nullptr) return none(EINVAL);
      if (const int error = check_live(attr->xrcd, attr->cq); error != 0) return none(error);
      init.type = nic::SrqType::kXrc;
      init.xrcd = ours(attr->xrcd).handle;
      init.cq = ours(attr->cq).handle;
      break;
    default:  // tag matching
      return none(EOPNOTSUPP);
  }
  ibv_cq* const cq = init.type == nic::SrqType::kXrc ? attr->cq : nullptr;
  return make_srq(attr->pd, attr->srq_context, attr->attr, init, cq);
}

int get_srq_num(ibv_srq* srq, std::uint32_t* number) noexcept {
  if (const int error = check_live(srq); error != 0) return fail(error);
  VerbsSrq& mine = ours(srq);
  const auto query =
      Session(*mine.adapter, mine.shard, Session::For::kControl)->query_srq(mine.handle);
  if (!query) return refused(srq->context, query.error());
  *number = query->number;
  return 0;
}

int post_srq_ops(ibv_srq* /*srq*/, ibv_ops_wr* op, ibv_ops_wr** bad) noexcept {
  *bad = op;
  return EOPNOTSUPP;
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_srq* ibv_create_srq(ibv_pd* pd, ibv_srq_init_attr* attr) VERBS_NOEXCEPT {
  return make_srq(pd, attr->srq_context, attr->attr, {}, nullptr);
}

int ibv_modify_srq(ibv_srq* srq, ibv_srq_attr* attr, int mask) VERBS_NOEXCEPT {
  if (const int error = check_live(srq); error != 0) return fail(error);
  VerbsSrq& mine = ours(srq);
  // IBV_DEVICE_SRQ_RESIZE is not reported.
  if ((mask & IBV_SRQ_MAX_WR) != 0) return fail(EOPNOTSUPP);
  if ((mask & ~static_cast<int>(IBV_SRQ_LIMIT)) != 0) return fail(EINVAL);
  if (mask == 0) return 0;
  const auto set = Session(*mine.adapter, mine.shard, Session::For::kControl)
                       ->set_srq_limit(mine.handle, attr->srq_limit);
  return set ? 0 : refused(srq->context, set.error());
}

int ibv_query_srq(ibv_srq* srq, ibv_srq_attr* attr) VERBS_NOEXCEPT {
  if (const int error = check_live(srq); error != 0) return fail(error);
  VerbsSrq& mine = ours(srq);
  const auto query =
      Session(*mine.adapter, mine.shard, Session::For::kControl)->query_srq(mine.handle);
  if (!query) return refused(srq->context, query.error());
  *attr = {.max_wr = query->max_wr, .max_sge = query->max_sge, .srq_limit = query->limit};
  return 0;
}

int ibv_destroy_srq(ibv_srq* srq) VERBS_NOEXCEPT {
  if (const int error = check_live(srq); error != 0) return fail(error);
  VerbsSrq& mine = ours(srq);
  const auto gone =
      Session(*mine.adapter, mine.shard, Session::For::kObjects)->destroy_srq(mine.handle);
  if (!gone) return refused(srq->context, gone.error());
  mine.adapter->unplace(mine.shard);
  remove_live(srq);
  ours(srq->context).async.forget([&](const AsyncEvent& event) { return event.element == srq; });
  wait_for_acks(mine);
  ::pthread_mutex_destroy(&srq->mutex);
  ::pthread_cond_destroy(&srq->cond);
  free_later(mine);
  return 0;
}

}  // extern "C"
