// Requests and receives of Side, with both interfaces of verbs.
#include <endian.h>

#include <algorithm>
#include <cerrno>

#include "tests/bad_days/worlds/side.h"

namespace worlds {
namespace {

constexpr std::uint32_t kUdQkey = 0x1234'5678;

ibv_wr_opcode opcode_of(Op op) {
  constexpr std::array kOpcodes{IBV_WR_SEND,
                                IBV_WR_SEND_WITH_IMM,
                                IBV_WR_SEND_WITH_INV,
                                IBV_WR_RDMA_WRITE,
                                IBV_WR_RDMA_WRITE_WITH_IMM,
                                IBV_WR_RDMA_READ,
                                IBV_WR_ATOMIC_CMP_AND_SWP,
                                IBV_WR_ATOMIC_FETCH_AND_ADD,
                                IBV_WR_BIND_MW,
                                IBV_WR_LOCAL_INV};
  return kOpcodes[static_cast<std::size_t>(op)];
}

}  // namespace

bool Side::may_post(Qp& qp, std::uint64_t now) {
  if (!qp.may_post || qp.posted == qp.requests->size()) return false;
  const Request& next = (*qp.requests)[qp.posted];
  const std::size_t limit = qp.plan->ends[side_].one_by_one ? 1 : qp.plan->depth;
  if (qp.posted - qp.completed >= limit || qp.received < next.after_receives) return false;
  if (qp.due_us == 0) qp.due_us = now + next.pause_us;
  return now >= qp.due_us;
}

bool Side::post_requests(std::size_t index) {
  Qp& qp = qps_[index];
  const QpPlan& plan = *qp.plan;
  const bool strikes = plan.blow != Blow::kNone && plan.blow_side == side_;
  if (strikes && !qp.struck_here && qp.posted == plan.blow_at) {
    strike(index);
    return true;
  }
  const std::uint64_t now = now_us();
  std::size_t count = 0;
  const std::size_t first = qp.posted;
  for (const std::size_t limit = prng_.between(1, 4); count < limit && may_post(qp, now); ++count) {
    // Such a bind has its own call.
    const bool alone = binds_type_1(qp, qp.posted);
    if (alone && count > 0) break;
    ++qp.posted;
    qp.due_us = 0;
    if (alone) {
      ++count;
      break;
    }
    if (strikes && qp.posted == plan.blow_at && !qp.struck_here) {
      ++count;
      break;
    }
  }
  if (count == 0) return false;
  qp.posted = first;
  for (std::size_t i = first; tracing() && i < first + count; ++i) {
    const Request& request = (*qp.requests)[i];
    trace("posts " + std::to_string(index) + " #" + std::to_string(i) + " " + name_of(request.op) +
          " bytes " + std::to_string(request.message.size()) +
          (request.signaled ? " signaled" : ""));
  }
  if (binds_type_1(qp, first)) {
    bind_type_1(index);
  } else if (plan.wr_calls) {
    post_by_calls(index, count);
  } else {
    post(index, count);
  }
  return true;
}

void Side::strike(std::size_t index) {
  Qp& qp = qps_[index];
  qp.struck_here = true;
  // First, so that the peer is told before it can notice.
  const auto number = static_cast<std::uint32_t>(index);
  control_.send({.word = Word::kStrike, .qp = number});
  qp.health = Health::kStriking;
  if (qp.plan->blow == Blow::kBadRequest) return;
  qp.may_post = false;
  switch (qp.plan->blow) {
    case Blow::kError:
      objects_.to_state(index, IBV_QPS_ERR);
      qp.health = Health::kError;
      // Work that is posted now is flushed at once.
      if (qp.posted < qp.requests->size() && qp.posted - qp.completed < qp.plan->depth &&
          !binds_type_1(qp, qp.posted)) {
        post(index, 1);
      }
      break;
    case Blow::kDeregister:
      deregister(index);
      break;
    case Blow::kReset:
      (void)poll_all();
      objects_.to_state(index, IBV_QPS_RESET);
      qp.health = Health::kGone;
      break;
    default:
      (void)poll_all();
      objects_.destroy_qp(index);
      qp.health = Health::kGone;
  }
  control_.send({.word = Word::kStruck, .qp = number});
}

void Side::deregister(std::size_t index) {
  const Piece region = *qps_[index].plan->ends[side_].region;
  if (qps_[index].plan->reregisters) {
    objects_.take_rights(index);
  } else {
    objects_.deregister(index);
  }
  // The memory belongs to the program again.
  for (std::size_t i = region.at; i < region.at + region.length; ++i) {
    expected_[i] = memory_[i] = static_cast<std::byte>(prng_.next());
  }
  reused_.push_back(region);
  // Requests that arrive now are refused.
  const std::uint64_t end = now_us() + prng_.between(100, 3000);
  while (now_us() < end) (void)poll_all();
  objects_.to_state(index, IBV_QPS_ERR);
  qps_[index].health = Health::kError;
}

bool Side::binds_type_1(const Qp& qp, std::size_t at) const {
  const Request& request = (*qp.requests)[at];
  return request.op == Op::kBind && world_.windows[*request.target.window].type_1;
}

void Side::bind_type_1(std::size_t index) {
  Qp& qp = qps_[index];
  const Request& request = (*qp.requests)[qp.posted];
  const std::size_t window = *request.target.window;
  ibv_mw_bind bind{.wr_id = index << 32U | qp.posted,
                   .send_flags = flags_of(qp, request),
                   .bind_info = bind_info(request)};
  ++qp.posted;
  must((errno = ibv_bind_mw(objects_.qp(index), objects_.window(window), &bind)) == 0,
       "ibv_bind_mw");
  control_.send({.word = Word::kWindow,
                 .qp = static_cast<std::uint32_t>(window),
                 .key = objects_.window(window)->rkey});
}

std::uint64_t Side::remote_address(const Qp& qp, const Request& request) const {
  const auto index = static_cast<std::size_t>(&qp - qps_.data());
  if (request.target.region) {
    const Piece& region = *qp.plan->ends[1 - side_].region;
    return peer_.region_addresses[index] + (request.target.at - region.at);
  }
  const Zone zone = request.target.zone;
  return peer_.addresses[static_cast<std::size_t>(zone)] +
         (request.target.at - Memory::start(zone));
}

std::uint32_t Side::remote_key(const Qp& qp, const Request& request) const {
  const auto index = static_cast<std::size_t>(&qp - qps_.data());
  const Target& target = request.target;
  const std::uint32_t key = target.window   ? peer_.windows[*target.window]
                            : target.region ? peer_.region_rkeys[index]
                                            : peer_.rkeys[static_cast<std::size_t>(target.zone)];
  return key ^ target.spoil_key;
}

unsigned Side::flags_of(const Qp& qp, const Request& request) const {
  unsigned flags = 0;
  if (request.signaled && !qp.plan->signal_all) flags |= IBV_SEND_SIGNALED;
  if (request.fenced) flags |= IBV_SEND_FENCE;
  if (request.solicited) flags |= IBV_SEND_SOLICITED;
  return flags;
}

ibv_mw_bind_info Side::bind_info(const Request& request) const {
  const Window& window = world_.windows[*request.target.window];
  return {.mr = objects_.mr(Zone::kOpen),
          .addr = objects_.address(window.at),
          .length = window.length,
          .mw_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ};
}

void Side::post(std::size_t index, std::size_t count) {
  Qp& qp = qps_[index];
  std::vector<ibv_send_wr> wrs(count);
  std::vector<std::vector<ibv_sge>> sges(count);
  std::vector<Bytes> inlined(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Request& request = (*qp.requests)[qp.posted + i];
    if (request.inlined) {
      // Memory that is not registered, and that belongs to the program again after the call.
      inlined[i] = request.message;
      sges[i] = {{.addr = reinterpret_cast<std::uint64_t>(inlined[i].data()),
                  .length = static_cast<std::uint32_t>(inlined[i].size()),
                  .lkey = 0}};
    } else {
      for (const Piece& piece : request.pieces) {
        sges[i].push_back(objects_.sge(piece));
        sges[i].back().lkey ^= request.spoil_lkey;
      }
    }
    ibv_send_wr& wr = wrs[i];
    wr.wr_id = index << 32U | (qp.posted + i);
    wr.next = i + 1 < count ? &wrs[i + 1] : nullptr;
    wr.sg_list = sges[i].data();
    wr.num_sge = static_cast<int>(sges[i].size());
    wr.opcode = opcode_of(request.op);
    wr.send_flags = flags_of(qp, request) | (request.inlined ? unsigned{IBV_SEND_INLINE} : 0U);
    wr.imm_data = htobe32(request.immediate);
    if (request.op == Op::kSendInvalidate) wr.invalidate_rkey = remote_key(qp, request);
    if (qp.plan->type == IBV_QPT_UD) {
      wr.wr.ud = {.ah = objects_.ah(index),
                  .remote_qpn = qp.peer_number,
                  .remote_qkey = kUdQkey ^ request.spoil_qkey};
    } else if (request.op == Op::kBind) {
      wr.bind_mw = {.mw = objects_.window(*request.target.window),
                    .rkey = objects_.card().windows[*request.target.window],
                    .bind_info = bind_info(request)};
    } else if (request.op == Op::kLocalInvalidate) {
      wr.invalidate_rkey = objects_.card().windows[*request.target.window];
    } else if (request.op == Op::kCompareSwap || request.op == Op::kFetchAdd) {
      wr.wr.atomic = {.remote_addr = remote_address(qp, request),
                      .compare_add = request.compare_or_add,
                      .swap = request.swap,
                      .rkey = remote_key(qp, request)};
    } else {
      wr.wr.rdma = {.remote_addr = remote_address(qp, request), .rkey = remote_key(qp, request)};
    }
  }
  qp.posted += count;
  ibv_send_wr* bad{};
  must((errno = ibv_post_send(objects_.qp(index), wrs.data(), &bad)) == 0, "ibv_post_send");
  for (Bytes& bytes : inlined) std::ranges::fill(bytes, std::byte{0xee});
}

void Side::post_by_calls(std::size_t index, std::size_t count) {
  Qp& qp = qps_[index];
  ibv_qp_ex* const ex = ibv_qp_to_qp_ex(objects_.qp(index));
  ibv_wr_start(ex);
  std::vector<Bytes> inlined(count);
  for (std::size_t i = 0; i < count; ++i) {
    const Request& r = (*qp.requests)[qp.posted + i];
    ex->wr_id = index << 32U | (qp.posted + i);
    ex->wr_flags = flags_of(qp, r);
    const std::uint32_t key = remote_key(qp, r);
    const std::uint64_t address = remote_address(qp, r);
    switch (r.op) {
      case Op::kSend:
        ibv_wr_send(ex);
        break;
      case Op::kSendImm:
        ibv_wr_send_imm(ex, htobe32(r.immediate));
        break;
      case Op::kSendInvalidate:
        ibv_wr_send_inv(ex, key);
        break;
      case Op::kWrite:
        ibv_wr_rdma_write(ex, key, address);
        break;
      case Op::kWriteImm:
        ibv_wr_rdma_write_imm(ex, key, address, htobe32(r.immediate));
        break;
      case Op::kRead:
        ibv_wr_rdma_read(ex, key, address);
        break;
      case Op::kCompareSwap:
        ibv_wr_atomic_cmp_swp(ex, key, address, r.compare_or_add, r.swap);
        break;
      case Op::kFetchAdd:
        ibv_wr_atomic_fetch_add(ex, key, address, r.compare_or_add);
        break;
      case Op::kBind: {
        const ibv_mw_bind_info info = bind_info(r);
        ibv_wr_bind_mw(ex, objects_.window(*r.target.window),
                       objects_.card().windows[*r.target.window], &info);
        continue;
      }
      case Op::kLocalInvalidate:
        ibv_wr_local_inv(ex, objects_.card().windows[*r.target.window]);
        continue;
    }
    if (qp.plan->type == IBV_QPT_UD) {
      ibv_wr_set_ud_addr(ex, objects_.ah(index), qp.peer_number, kUdQkey ^ r.spoil_qkey);
    }
    if (r.inlined) {
      inlined[i] = r.message;
      ibv_wr_set_inline_data(ex, inlined[i].data(), inlined[i].size());
      std::ranges::fill(inlined[i], std::byte{0xee});
      continue;
    }
    std::vector<ibv_sge> sges;
    for (const Piece& piece : r.pieces) {
      sges.push_back(objects_.sge(piece));
      sges.back().lkey ^= r.spoil_lkey;
    }
    ibv_wr_set_sge_list(ex, sges.size(), sges.data());
  }
  qp.posted += count;
  must((errno = ibv_wr_complete(ex)) == 0, "ibv_wr_complete");
}

bool Side::post_receives(Queue& queue, ibv_qp* qp, std::uint64_t id) {
  const auto& receives = queue.plan->receives;
  // A QP that ended may have kept one of a shared queue.
  const auto lost = qp != nullptr ? 0 : std::ranges::count_if(qps_, [](const Qp& q) {
    return q.health != Health::kGood;
  });
  bool any = false;
  for (const std::uint64_t now = now_us(); queue.posted < receives.size(); any = true) {
    const std::size_t outstanding = queue.posted - queue.completed;
    if (now < queue.due_us || outstanding >= queue.plan->depth + static_cast<std::size_t>(lost)) {
      break;
    }
    std::vector<ibv_sge> sges;
    for (const Piece& piece : receives[queue.posted].pieces) sges.push_back(objects_.sge(piece));
    ibv_recv_wr wr{.wr_id = kReceiveBit | id << 32U | queue.posted,
                   .next = nullptr,
                   .sg_list = sges.data(),
                   .num_sge = static_cast<int>(sges.size())};
    ibv_recv_wr* bad{};
    errno =
        qp != nullptr ? ibv_post_recv(qp, &wr, &bad) : ibv_post_srq_recv(objects_.srq(), &wr, &bad);
    must(errno == 0, "ibv_post_recv");
    if (++queue.posted < receives.size()) queue.due_us = now + receives[queue.posted].delay_us;
  }
  return any;
}

}  // namespace worlds
