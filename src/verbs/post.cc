// Posting lists of work requests: ibv_post_send, ibv_post_recv, ibv_post_srq_recv, ibv_bind_mw.
#include <endian.h>

#include <cerrno>

#include "verbs/srq.h"
#include "verbs/translate.h"

namespace nerve::verbs {
namespace {

void aim(nic::SendWr& to, const ibv_send_wr& wr) {
  to.remote_address = wr.wr.rdma.remote_addr;
  to.rkey = RKey{wr.wr.rdma.rkey};
}

void aim_atomic(nic::SendWr& to, const ibv_send_wr& wr) {
  to.remote_address = wr.wr.atomic.remote_addr;
  to.compare_or_add = wr.wr.atomic.compare_add;
  to.swap = wr.wr.atomic.swap;
  to.rkey = RKey{wr.wr.atomic.rkey};
}

// Sets the fields that depend on the operation. Returns 0, or the errno of an unsupported one.
int translate_operation(nic::SendWr& to, const ibv_send_wr& wr) {
  using enum nic::SendOp;
  switch (wr.opcode) {
    case IBV_WR_SEND:
      to.op = kSend;
      return 0;
    case IBV_WR_SEND_WITH_IMM:
      to.op = kSendImm;
      to.immediate = be32toh(wr.imm_data);
      return 0;
    case IBV_WR_SEND_WITH_INV:
      to.op = kSendInvalidate;
      to.rkey = RKey{wr.invalidate_rkey};
      return 0;
    case IBV_WR_RDMA_WRITE:
      to.op = kWrite;
      aim(to, wr);
      return 0;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      to.op = kWriteImm;
      to.immediate = be32toh(wr.imm_data);
      aim(to, wr);
      return 0;
    case IBV_WR_RDMA_READ:
      to.op = kRead;
      aim(to, wr);
      return 0;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      to.op = kCompareSwap;
      aim_atomic(to, wr);
      return 0;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      to.op = kFetchAdd;
      aim_atomic(to, wr);
      return 0;
    case IBV_WR_ATOMIC_WRITE:
      to.op = kAtomicWrite;
      aim(to, wr);
      return 0;
    case IBV_WR_LOCAL_INV:
      to.op = kLocalInvalidate;
      to.rkey = RKey{wr.invalidate_rkey};
      return 0;
    case IBV_WR_BIND_MW:
      // Windows of type 1 are bound by ibv_bind_mw.
      if (wr.bind_mw.mw == nullptr || wr.bind_mw.mw->type != IBV_MW_TYPE_2) return EINVAL;
      to.op = kBindMw;
      to.bind = bind_of(wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
      return 0;
    default:
      return EOPNOTSUPP;
  }
}

int translate(const VerbsQp& qp, nic::SendWr& to, ListCopy& list, const ibv_send_wr& wr) {
  if ((wr.send_flags & ~kSendFlags) != 0 || !list.take(wr.sg_list, wr.num_sge)) return EINVAL;
  to.wr_id = wr.wr_id;
  to.flags = static_cast<nic::SendFlags>(wr.send_flags);
  to.sges = list.list();
  if (const int error = translate_operation(to, wr); error != 0) return error;
  if (qp.datagram) {
    if (wr.wr.ud.ah == nullptr) return EINVAL;
    to.ah = ours(wr.wr.ud.ah).handle;
    to.remote_qpn = Qpn{wr.wr.ud.remote_qpn & Qpn::kMask};
    to.remote_qkey = wr.wr.ud.remote_qkey;
  } else {
    to.remote_srq = wr.qp_type.xrc.remote_srqn;
  }
  return 0;
}

void reach_all(const VerbsQp& qp, const ibv_send_wr* wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (wr->wr.ud.ah != nullptr) reach(qp, ours(wr->wr.ud.ah), wr->wr.ud.remote_qpn);
  }
}

// Posts a list of receives one by one; `post` posts to the queue.
template <class Post>
int post_receives(ibv_context* context, ibv_recv_wr* wr, ibv_recv_wr** bad, Post post) {
  ListCopy list;
  for (; wr != nullptr; wr = wr->next) {
    int error = EINVAL;
    if (list.take(wr->sg_list, wr->num_sge)) {
      const nic::Status taken = post(nic::RecvWr{.wr_id = wr->wr_id, .sges = list.list()});
      if (taken) continue;
      error = refused(context, taken.error());
    }
    *bad = wr;
    return error;
  }
  return 0;
}

}  // namespace

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept {
  VerbsQp& mine = ours(qp);
  if (mine.datagram) reach_all(mine, wr);
  ListCopy list;
  int error = 0;
  Session session{*mine.adapter, mine.shard, Session::For::kWork};
  const ibv_send_wr* const first = wr;
  for (; wr != nullptr; wr = wr->next) {
    nic::SendWr request;
    error = translate(mine, request, list, *wr);
    if (error == 0) {
      const nic::Status taken = session->post_send(mine.handle, request);
      if (taken) continue;
      error = refused(*qp, taken.error());
    }
    *bad = wr;
    break;
  }
  if (wr != first) session.posted();
  return error;
}

int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  VerbsQp& mine = ours(qp);
  Session session{*mine.adapter, mine.shard, Session::For::kWork};
  const int error = post_receives(qp->context, wr, bad, [&](const nic::RecvWr& receive) {
    return session->post_recv(mine.handle, receive);
  });
  session.posted_receives();
  return error;
}

int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept {
  VerbsSrq& mine = ours(srq);
  const Session session{*mine.adapter, mine.shard, Session::For::kWork};
  return post_receives(srq->context, wr, bad, [&](const nic::RecvWr& receive) {
    return session->post_srq_recv(mine.handle, receive);
  });
}

// verbs.h has checked that the window is of type 1 and that the region is in its domain.
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) noexcept {
  VerbsQp& mine = ours(qp);
  if ((bind->send_flags & ~kSendFlags) != 0) return EINVAL;
  const std::uint32_t rkey = ibv_inc_rkey(mw->rkey);
  nic::SendWr request{.wr_id = bind->wr_id,
                      .op = nic::SendOp::kBindMw,
                      .flags = static_cast<nic::SendFlags>(bind->send_flags)};
  request.bind = bind_of(mw, rkey, bind->bind_info);
  Session session{*mine.adapter, mine.shard, Session::For::kWork};
  const nic::Status taken = session->post_send(mine.handle, request);
  if (!taken) return refused(*qp, taken.error());
  session.posted();
  mw->rkey = rkey;
  return 0;
}

}  // namespace nerve::verbs
