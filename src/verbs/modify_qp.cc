// modify_qp and query_qp: conversion between ibv_qp_attr and the engine's attributes.
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "host/diagnostics/log.h"
#include "verbs/address.h"
#include "verbs/lid.h"
#include "verbs/qp.h"

namespace nerve::verbs {
namespace {

using nic::QpAttrs;

struct Attribute {
  int theirs;
  QpAttrs ours;
};

// IBV_QP_STATE is not in the table: it selects the transition.
constexpr std::array kAttributes{
    Attribute{IBV_QP_CUR_STATE, QpAttrs::kCurState},
    Attribute{IBV_QP_EN_SQD_ASYNC_NOTIFY, QpAttrs::kSqdNotify},
    Attribute{IBV_QP_ACCESS_FLAGS, QpAttrs::kAccess},
    Attribute{IBV_QP_PKEY_INDEX, QpAttrs::kPkeyIndex},
    Attribute{IBV_QP_PORT, QpAttrs::kPort},
    Attribute{IBV_QP_QKEY, QpAttrs::kQkey},
    Attribute{IBV_QP_AV, QpAttrs::kPath},
    Attribute{IBV_QP_PATH_MTU, QpAttrs::kPathMtu},
    Attribute{IBV_QP_TIMEOUT, QpAttrs::kTimeout},
    Attribute{IBV_QP_RETRY_CNT, QpAttrs::kRetryCount},
    Attribute{IBV_QP_RNR_RETRY, QpAttrs::kRnrRetry},
    Attribute{IBV_QP_RQ_PSN, QpAttrs::kRqPsn},
    Attribute{IBV_QP_MAX_QP_RD_ATOMIC, QpAttrs::kMaxRead},
    Attribute{IBV_QP_ALT_PATH, QpAttrs::kAltPath},
    Attribute{IBV_QP_MIN_RNR_TIMER, QpAttrs::kMinRnrTimer},
    Attribute{IBV_QP_SQ_PSN, QpAttrs::kSqPsn},
    Attribute{IBV_QP_MAX_DEST_RD_ATOMIC, QpAttrs::kMaxDestRead},
    Attribute{IBV_QP_PATH_MIG_STATE, QpAttrs::kPathMigState},
    Attribute{IBV_QP_CAP, QpAttrs::kCaps},
    Attribute{IBV_QP_DEST_QPN, QpAttrs::kDestQp},
    Attribute{IBV_QP_RATE_LIMIT, QpAttrs::kRateLimit},
};

// Nothing if the mask contains an unknown bit.
std::optional<QpAttrs> attributes_in(int mask) {
  QpAttrs given = QpAttrs::kNone;
  int left = mask & ~static_cast<int>(IBV_QP_STATE);
  for (const Attribute& attribute : kAttributes) {
    if ((left & attribute.theirs) == 0) continue;
    given |= attribute.ours;
    left &= ~attribute.theirs;
  }
  if (left != 0) return std::nullopt;
  return given;
}

// An XRC send QP only requests, and an XRC receive QP only responds. Attributes of the other half
// are ignored, as in Linux, because programs set up both alike.
int meant_for(ibv_qp_type type, int mask) {
  constexpr int kAnswering = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kAsking = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  if (type == IBV_QPT_XRC_SEND) return mask & ~kAnswering;
  if (type == IBV_QPT_XRC_RECV) return mask & ~kAsking;
  return mask;
}

constexpr std::array kMtus{nic::Mtu::k256, nic::Mtu::k512, nic::Mtu::k1024, nic::Mtu::k2048,
                           nic::Mtu::k4096};

// An invalid MTU becomes one that the engine refuses.
nic::Mtu path_mtu_of(ibv_mtu mtu) {
  if (mtu < IBV_MTU_256 || mtu > IBV_MTU_4096) return nic::Mtu{};
  return kMtus[static_cast<std::size_t>(mtu - IBV_MTU_256)];
}

bool is_state(ibv_qp_state state) { return state >= IBV_QPS_RESET && state <= IBV_QPS_ERR; }
static_assert(static_cast<int>(nic::QpState::kErr) == IBV_QPS_ERR);

nic::QpAttributes attributes_of(const ibv_qp_attr& attr) {
  constexpr std::uint64_t kKilobit = 1000;
  return {.pkey_index = attr.pkey_index,
          .port = attr.port_num,
          .access = static_cast<nic::Access>(attr.qp_access_flags),
          .qkey = attr.qkey,
          .path = address_of(attr.ah_attr),
          .path_mtu = path_mtu_of(attr.path_mtu),
          .dest_qp = Qpn{attr.dest_qp_num & Qpn::kMask},
          .rq_psn = Psn{attr.rq_psn},
          .sq_psn = Psn{attr.sq_psn},
          .rate_limit = Rate::bits_per_second(attr.rate_limit * kKilobit),
          .max_dest_read = attr.max_dest_rd_atomic,
          .max_read = attr.max_rd_atomic,
          .min_rnr_timer = attr.min_rnr_timer,
          .timeout = attr.timeout,
          .retry_count = attr.retry_cnt,
          .rnr_retry = attr.rnr_retry,
          .sqd_notify = attr.en_sqd_async_notify != 0,
          .cur_state = static_cast<nic::QpState>(attr.cur_qp_state)};
}

// Opens the path to the peer before the QP is connected to it, because frames sent before that
// would be lost. Runs without the lock, because it may wait for another process.
void reach_peer(VerbsQp& qp, const nic::QpAttributes& to, QpAttrs given) {
  if (!contains(given, QpAttrs::kPath) || !to.path.is_global) return;
  Qpn peer = to.dest_qp;
  if (!contains(given, QpAttrs::kDestQp)) {
    const auto query = Session(*qp.adapter, qp.shard, Session::For::kControl)->query_qp(qp.handle);
    if (!query) return;
    peer = query->attributes.dest_qp;
  }
  qp.adapter->reach(qp.shard, to.path.destination, peer);
}

int modify(VerbsQp& qp, std::optional<nic::QpState> to, QpAttrs given, nic::QpAttributes values) {
  values.path = with_gid(Session(*qp.adapter, qp.shard, Session::For::kControl).nic(), values.path);
  reach_peer(qp, values, given);
  Session session{*qp.adapter, qp.shard, Session::For::kControl};
  const auto query = session->query_qp(qp.handle);
  if (!query) return refused(qp.base(), query.error());
  const auto changed = session->modify_qp(qp.handle, to.value_or(query->state), given, values);
  if (!changed) return refused(qp.base(), changed.error());
  if (to && !qp.datagram) session.follow_seal(Qpn{qp.base().qp_num}, *to);
  return 0;
}

void fill(ibv_qp_attr& attr, const nic::QpQuery& query) {
  const nic::QpAttributes& values = query.attributes;
  attr = {};
  attr.qp_state = static_cast<ibv_qp_state>(query.state);
  attr.cur_qp_state = attr.qp_state;
  const auto* const mtu = std::ranges::find(kMtus, values.path_mtu);
  attr.path_mtu = static_cast<ibv_mtu>(IBV_MTU_256 + (mtu - kMtus.begin()));
  attr.path_mig_state = IBV_MIG_MIGRATED;
  attr.qkey = values.qkey;
  attr.rq_psn = values.rq_psn.value();
  attr.sq_psn = values.sq_psn.value();
  attr.dest_qp_num = values.dest_qp.value();
  attr.qp_access_flags = static_cast<unsigned>(values.access);
  attr.cap = {.max_send_wr = query.caps.max_send_wr,
              .max_recv_wr = query.caps.max_recv_wr,
              .max_send_sge = query.caps.max_send_sge,
              .max_recv_sge = query.caps.max_recv_sge,
              .max_inline_data = query.caps.max_inline};
  attr.ah_attr = attr_of(values.path);
  attr.pkey_index = values.pkey_index;
  attr.en_sqd_async_notify = values.sqd_notify ? 1 : 0;
  attr.sq_draining = query.sq_draining ? 1 : 0;
  attr.max_rd_atomic = values.max_read;
  attr.max_dest_rd_atomic = values.max_dest_read;
  attr.min_rnr_timer = values.min_rnr_timer;
  attr.port_num = values.port;
  attr.timeout = values.timeout;
  attr.retry_cnt = values.retry_count;
  attr.rnr_retry = values.rnr_retry;
  attr.rate_limit = static_cast<std::uint32_t>(values.rate_limit.bits_per_second() / 1000);
}

}  // namespace

int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attr) noexcept {
  if (const int error = check_live(qp); error != 0) return fail(error);
  if (attr->comp_mask != 0) return fail(EINVAL);
  // Burst and packet size are hints for hardware shapers, and are ignored.
  nic::QpAttributes values{};
  values.rate_limit = Rate::bits_per_second(std::uint64_t{attr->rate_limit} * 1000);
  return modify(ours(qp), std::nullopt, QpAttrs::kRateLimit, values);
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

int ibv_modify_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask) VERBS_NOEXCEPT {
  if (const int error = check_live(qp); error != 0) return fail(error);
  const auto given = attributes_in(meant_for(qp->qp_type, mask));
  const bool steps = (mask & IBV_QP_STATE) != 0;
  if (!given || (steps && !is_state(attr->qp_state))) return fail(EINVAL);
  if ((mask & IBV_QP_CUR_STATE) != 0 && !is_state(attr->cur_qp_state)) return fail(EINVAL);
  std::optional<nic::QpState> to;
  if (steps) to = static_cast<nic::QpState>(attr->qp_state);
  const int result = modify(ours(qp), to, *given, attributes_of(*attr));
  if (result == 0 && steps) qp->state = attr->qp_state;
  return result;
}

int ibv_query_qp(ibv_qp* qp, ibv_qp_attr* attr, int mask, ibv_qp_init_attr* init) VERBS_NOEXCEPT {
  if (const int error = check_live(qp); error != 0) return fail(error);
  VerbsQp& mine = ours(qp);
  const auto query =
      Session(*mine.adapter, mine.shard, Session::For::kControl)->query_qp(mine.handle);
  if (!query) return refused(*qp, query.error());
  fill(*attr, *query);
  if (init != nullptr) *init = mine.init;
  if ((mask & IBV_QP_STATE) != 0) qp->state = attr->qp_state;
  return 0;
}

}  // extern "C"
