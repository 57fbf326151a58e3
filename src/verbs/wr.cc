// ibv_wr_*: requests built call by call (ibv_qp_ex).
#include <endian.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "verbs/translate.h"

namespace nerve::verbs {
namespace {

using nic::SendOp;

nic::SendWr& begin(ibv_qp_ex* qp, SendOp op) {
  Staging& staging = *ours(qp).staging;
  nic::SendWr& request = staging.add();
  request.op = op;
  request.wr_id = qp->wr_id;
  // Inline is selected by the setters, not by a flag.
  if ((qp->wr_flags & ~kSendFlags) != 0) staging.fail(EINVAL);
  request.flags = static_cast<nic::SendFlags>(qp->wr_flags & (kSendFlags ^ IBV_SEND_INLINE));
  return request;
}

nic::SendWr& begin_remote(ibv_qp_ex* qp, SendOp op, std::uint32_t rkey, std::uint64_t address) {
  nic::SendWr& request = begin(qp, op);
  request.rkey = RKey{rkey};
  request.remote_address = address;
  return request;
}

void wr_atomic_cmp_swp(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) noexcept {
  nic::SendWr& request = begin_remote(qp, SendOp::kCompareSwap, rkey, address);
  request.compare_or_add = compare;
  request.swap = swap;
}

void wr_atomic_fetch_add(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                         std::uint64_t add) noexcept {
  begin_remote(qp, SendOp::kFetchAdd, rkey, address).compare_or_add = add;
}

void wr_atomic_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                     const void* word) noexcept {
  constexpr std::size_t kWord = 8;
  begin_remote(qp, SendOp::kAtomicWrite, rkey, address);
  Staging& staging = *ours(qp).staging;
  staging.begin_inline();
  staging.add_inline(word, kWord);
}

void wr_flush(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address, std::size_t length,
              std::uint8_t placement, std::uint8_t selectivity) noexcept {
  nic::SendWr& request = begin_remote(qp, SendOp::kFlush, rkey, address);
  if (length > ~std::uint32_t{0}) return ours(qp).staging->fail(EINVAL);
  request.flush_length = static_cast<std::uint32_t>(length);
  request.flush_placement = placement;
  request.flush_selectivity = selectivity;
}

void wr_bind_mw(ibv_qp_ex* qp, ibv_mw* mw, std::uint32_t rkey,
                const ibv_mw_bind_info* info) noexcept {
  nic::SendWr& request = begin(qp, SendOp::kBindMw);
  if (mw->type != IBV_MW_TYPE_2) return ours(qp).staging->fail(EINVAL);
  request.bind = bind_of(mw, rkey, *info);
}

void wr_local_inv(ibv_qp_ex* qp, std::uint32_t rkey) noexcept {
  begin(qp, SendOp::kLocalInvalidate).rkey = RKey{rkey};
}

void wr_rdma_read(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) noexcept {
  begin_remote(qp, SendOp::kRead, rkey, address);
}

void wr_rdma_write(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address) noexcept {
  begin_remote(qp, SendOp::kWrite, rkey, address);
}

void wr_rdma_write_imm(ibv_qp_ex* qp, std::uint32_t rkey, std::uint64_t address,
                       __be32 immediate) noexcept {
  begin_remote(qp, SendOp::kWriteImm, rkey, address).immediate = be32toh(immediate);
}

void wr_send(ibv_qp_ex* qp) noexcept { begin(qp, SendOp::kSend); }

void wr_send_imm(ibv_qp_ex* qp, __be32 immediate) noexcept {
  begin(qp, SendOp::kSendImm).immediate = be32toh(immediate);
}

void wr_send_inv(ibv_qp_ex* qp, std::uint32_t rkey) noexcept {
  begin(qp, SendOp::kSendInvalidate).rkey = RKey{rkey};
}

void wr_set_ud_addr(ibv_qp_ex* qp, ibv_ah* ah, std::uint32_t qpn, std::uint32_t qkey) noexcept {
  VerbsQp& mine = ours(qp);
  reach(mine, ours(ah), qpn);
  nic::SendWr& request = mine.staging->last();
  request.ah = ours(ah).handle;
  request.remote_qpn = Qpn{qpn & Qpn::kMask};
  request.remote_qkey = qkey;
}

void wr_set_xrc_srqn(ibv_qp_ex* qp, std::uint32_t number) noexcept {
  ours(qp).staging->last().remote_srq = number;
}

void wr_set_inline_data(ibv_qp_ex* qp, void* from, std::size_t length) noexcept {
  Staging& staging = *ours(qp).staging;
  staging.begin_inline();
  staging.add_inline(from, length);
}

void wr_set_inline_data_list(ibv_qp_ex* qp, std::size_t count, const ibv_data_buf* list) noexcept {
  Staging& staging = *ours(qp).staging;
  staging.begin_inline();
  for (std::size_t i = 0; i < count; ++i) staging.add_inline(list[i].addr, list[i].length);
}

void wr_set_sge(ibv_qp_ex* qp, std::uint32_t lkey, std::uint64_t address,
                std::uint32_t length) noexcept {
  ours(qp).staging->set_sge({.address = address, .length = length, .lkey = LKey{lkey}});
}

void wr_set_sge_list(ibv_qp_ex* qp, std::size_t count, const ibv_sge* list) noexcept {
  ours(qp).staging->set_list(reinterpret_cast<const nic::Sge*>(list), count);
}

void wr_start(ibv_qp_ex* qp) noexcept {
  Staging& staging = *ours(qp).staging;
  staging.lock.lock();
  staging.start();
}

int wr_complete(ibv_qp_ex* qp) noexcept {
  VerbsQp& mine = ours(qp);
  Staging& staging = *mine.staging;
  int error = staging.error();
  if (error == 0 && !staging.requests().empty()) {
    Session session{*mine.adapter, mine.shard, Session::For::kWork};
    const nic::Status taken = session->post_sends(mine.handle, staging.requests());
    if (taken) {
      session.posted();
    } else {
      error = refused(mine.base(), taken.error());
    }
  }
  staging.lock.unlock();
  return error;
}

void wr_abort(ibv_qp_ex* qp) noexcept { ours(qp).staging->lock.unlock(); }

// From headers later than rdma-core 44.
constexpr std::uint64_t kWithFlush = 1U << 11U;

constexpr std::uint64_t kOffered =
    IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
    IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
    IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |
    IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_ATOMIC_WRITE | kWithFlush;

}  // namespace

bool set_work_calls(VerbsQp& qp, std::uint64_t wanted) {
  if ((wanted & ~kOffered) != 0) return false;
  ibv_qp_ex& ex = qp.face.ex;
  const auto offer = [&](std::uint64_t bit, auto& slot, auto call) {
    if ((wanted & bit) != 0) slot = call;
  };
  offer(IBV_QP_EX_WITH_RDMA_WRITE, ex.wr_rdma_write, wr_rdma_write);
  offer(IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, ex.wr_rdma_write_imm, wr_rdma_write_imm);
  offer(IBV_QP_EX_WITH_SEND, ex.wr_send, wr_send);
  offer(IBV_QP_EX_WITH_SEND_WITH_IMM, ex.wr_send_imm, wr_send_imm);
  offer(IBV_QP_EX_WITH_SEND_WITH_INV, ex.wr_send_inv, wr_send_inv);
  offer(IBV_QP_EX_WITH_RDMA_READ, ex.wr_rdma_read, wr_rdma_read);
  offer(IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, ex.wr_atomic_cmp_swp, wr_atomic_cmp_swp);
  offer(IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, ex.wr_atomic_fetch_add, wr_atomic_fetch_add);
  offer(IBV_QP_EX_WITH_ATOMIC_WRITE, ex.wr_atomic_write, wr_atomic_write);
  offer(IBV_QP_EX_WITH_LOCAL_INV, ex.wr_local_inv, wr_local_inv);
  offer(IBV_QP_EX_WITH_BIND_MW, ex.wr_bind_mw, wr_bind_mw);
  if ((wanted & kWithFlush) != 0) {
    const WrFlush call = wr_flush;
    std::memcpy(reinterpret_cast<std::byte*>(&qp.face) + kWrFlushAt, &call, sizeof call);
  }
  ex.wr_set_ud_addr = wr_set_ud_addr;
  ex.wr_set_xrc_srqn = wr_set_xrc_srqn;
  ex.wr_set_inline_data = wr_set_inline_data;
  ex.wr_set_inline_data_list = wr_set_inline_data_list;
  ex.wr_set_sge = wr_set_sge;
  ex.wr_set_sge_list = wr_set_sge_list;
  ex.wr_start = wr_start;
  ex.wr_complete = wr_complete;
  ex.wr_abort = wr_abort;
  return true;
}

}  // namespace nerve::verbs
