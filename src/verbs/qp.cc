// Creating, querying and destroying queue pairs.
#include "verbs/qp.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>

#include "verbs/address.h"
#include "verbs/cq.h"
#include "verbs/pd.h"
#include "verbs/srq.h"

namespace nerve::verbs {
namespace {

std::optional<nic::QpType> type_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return nic::QpType::kRc;
    case IBV_QPT_UC:
      return nic::QpType::kUc;
    case IBV_QPT_UD:
      return nic::QpType::kUd;
    case IBV_QPT_XRC_SEND:
      return nic::QpType::kXrcSend;
    case IBV_QPT_XRC_RECV:
      return nic::QpType::kXrcRecv;
    default:
      return std::nullopt;
  }
}

constexpr std::uint32_t kLeastInline = 64;

nic::QpCaps caps_of(const ibv_qp_cap& cap) {
  return {.max_send_wr = cap.max_send_wr,
          .max_recv_wr = cap.max_recv_wr,
          .max_send_sge = cap.max_send_sge,
          .max_recv_sge = cap.max_recv_sge,
          .max_inline = cap.max_inline_data};
}

ibv_qp_cap cap_of(const nic::QpCaps& caps) {
  return {.max_send_wr = caps.max_send_wr,
          .max_recv_wr = caps.max_recv_wr,
          .max_send_sge = caps.max_send_sge,
          .max_recv_sge = caps.max_recv_sge,
          .max_inline_data = caps.max_inline};
}

// Supported attributes of create_qp_ex; the others are for raw Ethernet and for vendors.
constexpr std::uint32_t kKnownAttrs = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD |
                                      IBV_QP_INIT_ATTR_CREATE_FLAGS |
                                      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;

nic::QpInit init_of(const ibv_qp_init_attr_ex& attr, nic::QpType type) {
  nic::QpInit init{.type = type, .caps = caps_of(attr.cap), .signal_all = attr.sq_sig_all != 0};
  const auto has = [&](std::uint32_t bit) { return (attr.comp_mask & bit) != 0; };
  if (has(IBV_QP_INIT_ATTR_PD) && attr.pd != nullptr) init.pd = ours(attr.pd).handle;
  if (has(IBV_QP_INIT_ATTR_XRCD) && attr.xrcd != nullptr) init.xrcd = ours(attr.xrcd).handle;
  if (attr.send_cq != nullptr) init.send_cq = ours(attr.send_cq).handle;
  if (attr.recv_cq != nullptr) init.recv_cq = ours(attr.recv_cq).handle;
  if (attr.srq != nullptr) init.srq = ours(attr.srq).handle;
  return init;
}

void fill_face(VerbsQp& made, ibv_context* context, const ibv_qp_init_attr_ex& attr, Qpn number) {
  ibv_qp& qp = made.base();
  qp.context = context;
  qp.qp_context = attr.qp_context;
  qp.pd = (attr.comp_mask & IBV_QP_INIT_ATTR_PD) != 0 ? attr.pd : nullptr;
  qp.send_cq = attr.send_cq;
  qp.recv_cq = attr.recv_cq;
  qp.srq = attr.srq;
  qp.handle = made.handle.index;
  qp.qp_num = number.value();
  qp.state = IBV_QPS_RESET;
  qp.qp_type = attr.qp_type;
  ::pthread_mutex_init(&qp.mutex, nullptr);
  ::pthread_cond_init(&qp.cond, nullptr);
  made.init = {.qp_context = attr.qp_context,
               .send_cq = attr.send_cq,
               .recv_cq = attr.recv_cq,
               .srq = attr.srq,
               .cap = attr.cap,
               .qp_type = attr.qp_type,
               .sq_sig_all = attr.sq_sig_all};
}

// Checks that the objects the QP refers to exist.
int check_parts(const ibv_context* context, const ibv_qp_init_attr_ex& attr) {
  if (const int error = check_live(context); error != 0) return error;
  const auto has = [&](std::uint32_t bit) { return (attr.comp_mask & bit) != 0; };
  const ibv_pd* pd = has(IBV_QP_INIT_ATTR_PD) ? attr.pd : nullptr;
  const ibv_xrcd* xrcd = has(IBV_QP_INIT_ATTR_XRCD) ? attr.xrcd : nullptr;
  for (const int error :
       {check_live_or_null(pd), check_live_or_null(xrcd), check_live_or_null(attr.send_cq),
        check_live_or_null(attr.recv_cq), check_live_or_null(attr.srq)}) {
    if (error != 0) return error;
  }
  return 0;
}

host::ShardId place(VerbsQp& qp, const ibv_qp_init_attr_ex& attr) {
  std::array<host::ShardChoice*, 3> parts{};
  std::size_t count = 0;
  if (attr.send_cq != nullptr) parts[count++] = &ours(attr.send_cq).shard;
  if (attr.recv_cq != nullptr) parts[count++] = &ours(attr.recv_cq).shard;
  if (attr.srq != nullptr) parts[count++] = &ours(attr.srq).shard;
  const bool xrc = attr.qp_type == IBV_QPT_XRC_SEND || attr.qp_type == IBV_QPT_XRC_RECV;
  return qp.adapter->place(std::span{parts}.first(count), xrc);
}

ibv_qp* make_qp(ibv_context* context, ibv_qp_init_attr_ex& attr) {
  if (const int error = check_parts(context, attr); error != 0) return none(error);
  const auto type = type_of(attr.qp_type);
  if (!type) return none(EOPNOTSUPP);
  auto made = std::unique_ptr<VerbsQp>{new (std::nothrow) VerbsQp};
  if (!made) return none(ENOMEM);
  made->datagram = *type == nic::QpType::kUd;
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0) {
    if (!set_work_calls(*made, attr.send_ops_flags)) return none(EOPNOTSUPP);
    made->extended = true;
  }
  made->adapter = ours(context).adapter.get();
  nic::QpInit init = init_of(attr, *type);
  init.cookie = made->events.cookie();
  // NICs have some inline room even if none is requested, and programs rely on it.
  init.caps.max_inline = std::max(init.caps.max_inline, kLeastInline);
  made->shard = place(*made, attr);
  const Session session{*made->adapter, made->shard, Session::For::kObjects};
  const auto handle = session->create_qp(init);
  if (!handle) return none(refused(context, handle.error()));
  made->handle = *handle;
  const auto query = session->query_qp(*handle);
  if (made->extended && !(made->staging = Staging::create(query->caps))) {
    (void)session->destroy_qp(*handle);
    return none(ENOMEM);
  }
  attr.cap = cap_of(query->caps);
  fill_face(*made, context, attr, query->qpn);
  add_live(made->base());
  return &made.release()->base();
}

void wait_for_acks(VerbsQp& mine) {
  ibv_qp& qp = mine.base();
  // In a forked child the thread that would acknowledge does not exist.
  if (ours(qp.context).async.inherited()) return;
  ::pthread_mutex_lock(&qp.mutex);
  while (qp.events_completed != mine.async_reported) ::pthread_cond_wait(&qp.cond, &qp.mutex);
  ::pthread_mutex_unlock(&qp.mutex);
}

}  // namespace

void QpEvents::on_event(const nic::Event& event) {
  ours(owner.base().context)
      .async.push({.type = event_type(event.kind),
                   .element = &owner.base(),
                   .reported = &owner.async_reported});
}

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) noexcept {
  if ((attr->comp_mask & ~kKnownAttrs) != 0) return none(EOPNOTSUPP);
  const bool has_flags = (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
  if (has_flags && attr->create_flags != 0) return none(EOPNOTSUPP);
  return make_qp(context, *attr);
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_qp* ibv_create_qp(ibv_pd* pd, ibv_qp_init_attr* attr) VERBS_NOEXCEPT {
  ibv_qp_init_attr_ex wide{};
  wide.qp_context = attr->qp_context;
  wide.send_cq = attr->send_cq;
  wide.recv_cq = attr->recv_cq;
  wide.srq = attr->srq;
  wide.cap = attr->cap;
  wide.qp_type = attr->qp_type;
  wide.sq_sig_all = attr->sq_sig_all;
  wide.comp_mask = IBV_QP_INIT_ATTR_PD;
  wide.pd = pd;
  if (const int error = check_live(pd); error != 0) return none(error);
  ibv_qp* qp = make_qp(pd->context, wide);
  if (qp != nullptr) attr->cap = wide.cap;
  return qp;
}

ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* qp) VERBS_NOEXCEPT {
  return ours(qp).extended ? &ours(qp).face.ex : nullptr;
}

int ibv_destroy_qp(ibv_qp* qp) VERBS_NOEXCEPT {
  if (const int error = check_live(qp); error != 0) return fail(error);
  VerbsQp& mine = ours(qp);
  {
    Session session{*mine.adapter, mine.shard, Session::For::kObjects};
    const auto gone = session->destroy_qp(mine.handle);
    if (!gone) return refused(*qp, gone.error());
    session.follow_seal(Qpn{qp->qp_num}, nic::QpState::kReset);
    if (mine.datagram) (void)session.groups_changed();
  }
  remove_live(qp);
  ours(qp->context).async.forget([&](const AsyncEvent& event) { return event.element == qp; });
  wait_for_acks(mine);
  ::pthread_mutex_destroy(&qp->mutex);
  ::pthread_cond_destroy(&qp->cond);
  mine.staging.reset();
  free_later(mine);
  return 0;
}

// Packets are placed in address order, but another CPU may see the bytes of one packet in any
// order.
int ibv_query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*op*/,
                               uint32_t /*flags*/) VERBS_NOEXCEPT {
  return 0;
}

// Enhanced connection establishment: vendor options that both ends negotiate. We have none.
int ibv_set_ece(ibv_qp* /*qp*/, ibv_ece* ece) VERBS_NOEXCEPT {
  return ece->vendor_id == 0 ? 0 : EOPNOTSUPP;
}

int ibv_query_ece(ibv_qp* /*qp*/, ibv_ece* ece) VERBS_NOEXCEPT {
  *ece = {};
  return EOPNOTSUPP;
}

}  // extern "C"
