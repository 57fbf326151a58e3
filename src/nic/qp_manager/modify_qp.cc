// modify_qp: checks the transition against the table, then the values, and only then changes the
// QP.
#include <algorithm>
#include <bit>
#include <utility>

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/qp_manager/qp_manager.h"
#include "nic/qp_manager/qp_transitions.h"

namespace nerve::nic {
namespace {

// Makes room for `depth` requests in the replay cache. In SQD the cache of a live QP may grow: its
// entries keep their sequence numbers.
void make_replay_room(ResponderState& state, std::uint32_t depth) {
  const std::uint32_t before = state.replay.size();
  const std::uint32_t size = depth == 0 ? 0 : std::bit_ceil(depth);
  if (size <= before) return;
  FixedArray<ReplayEntry> ring{size};
  for (std::uint32_t age = 1; age <= before; ++age) {
    const std::uint32_t sequence = state.replay_end - age;
    ring[sequence % size] = state.replay[sequence % before];
  }
  state.replay = std::move(ring);
}

}  // namespace

Status QpManager::modify(QpHandle handle, QpState to, QpAttrs given,
                         const QpAttributes& attributes) {
  Qp* qp = qps_.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "modify qp: no such QP");
  const QpState from = qp->state;
  if (const Status allowed = check_transition(qp->type, from, to, given); !allowed) return allowed;
  if (const Status good = check_values(*qp, given, attributes); !good) return good;
  apply(*qp, given, attributes);
  if (to == QpState::kSqd && from != to) {
    qp->requester.drain_noted = false;
    qp->attributes.sqd_notify = contains(given, QpAttrs::kSqdNotify) && attributes.sqd_notify;
  }
  enter(*qp, from, to);
  if (core_.trace != nullptr && to != QpState::kErr)
      [[unlikely]] {  // which is traced as it is entered
    trace_state(*core_.trace, *qp, TraceStep::kModifyQp);
  }
  completions_.offer(*qp);
  return Done{};
}

Status QpManager::check_values(const Qp& qp, QpAttrs given, const QpAttributes& values) const {
  const auto has = [&](QpAttrs attribute) { return contains(given, attribute); };
  const auto bad = [](const char* what, std::uint64_t value, std::uint64_t limit) -> Status {
    return refuse(ErrorCode::kInvalid, what, value, limit);
  };
  if (has(QpAttrs::kCurState) && values.cur_state != qp.state) {
    return bad("modify qp: cur_qp_state is not the current state",
               static_cast<std::uint64_t>(values.cur_state), static_cast<std::uint64_t>(qp.state));
  }
  if (has(QpAttrs::kPort) && values.port != 1)
    return bad("modify qp: no such port", values.port, 1);
  if (has(QpAttrs::kPkeyIndex) && !port_.pkey(values.pkey_index)) {
    return bad("modify qp: pkey_index beyond the table", values.pkey_index,
               core_.config.pkeys.size() - 1);
  }
  if (has(QpAttrs::kPath)) {
    if (const auto flow = port_.flow_to(values.path); !flow) return Unexpected{flow.error()};
    if (values.path.destination.is_multicast()) {
      return bad("modify qp: a connection cannot lead to a multicast address", 0, 0);
    }
  }
  if (has(QpAttrs::kPathMtu)) {
    const std::uint32_t mtu = bytes(values.path_mtu);
    if (!std::has_single_bit(mtu) || mtu < 256 || mtu > bytes(core_.config.max_mtu)) {
      return bad("modify qp: path_mtu beyond the port's", mtu, bytes(core_.config.max_mtu));
    }
  }
  if (has(QpAttrs::kMaxRead) && values.max_read > core_.config.limits.max_read_depth) {
    return bad("modify qp: max_rd_atomic too large", values.max_read,
               core_.config.limits.max_read_depth);
  }
  if (has(QpAttrs::kMaxDestRead) && values.max_dest_read > core_.config.limits.max_read_depth) {
    return bad("modify qp: max_dest_rd_atomic too large", values.max_dest_read,
               core_.config.limits.max_read_depth);
  }
  if (has(QpAttrs::kMinRnrTimer) && values.min_rnr_timer > 31) {
    return bad("modify qp: min_rnr_timer is five bits", values.min_rnr_timer, 31);
  }
  if (has(QpAttrs::kTimeout) && values.timeout > 31) {
    return bad("modify qp: timeout is five bits", values.timeout, 31);
  }
  if (has(QpAttrs::kRetryCount) && values.retry_count > 7) {
    return bad("modify qp: retry_cnt is three bits", values.retry_count, 7);
  }
  if (has(QpAttrs::kRnrRetry) && values.rnr_retry > 7) {
    return bad("modify qp: rnr_retry is three bits", values.rnr_retry, 7);
  }
  if (has(QpAttrs::kAltPath) || has(QpAttrs::kPathMigState)) {
    return refuse(ErrorCode::kNotSupported, "modify qp: path migration is not supported");
  }
  return Done{};
}

void QpManager::apply(Qp& qp, QpAttrs given, const QpAttributes& values) {
  QpAttributes& own = qp.attributes;
  const auto take = [&](QpAttrs attribute, auto member) {
    if (contains(given, attribute)) own.*member = values.*member;
  };
  take(QpAttrs::kPkeyIndex, &QpAttributes::pkey_index);
  if (contains(given, QpAttrs::kPkeyIndex)) qp.pkey = *port_.pkey(own.pkey_index);
  take(QpAttrs::kPort, &QpAttributes::port);
  take(QpAttrs::kAccess, &QpAttributes::access);
  qp.access = own.access;
  take(QpAttrs::kQkey, &QpAttributes::qkey);
  take(QpAttrs::kPath, &QpAttributes::path);
  take(QpAttrs::kPathMtu, &QpAttributes::path_mtu);
  take(QpAttrs::kDestQp, &QpAttributes::dest_qp);
  qp.peer = own.dest_qp;
  take(QpAttrs::kRqPsn, &QpAttributes::rq_psn);
  take(QpAttrs::kSqPsn, &QpAttributes::sq_psn);
  take(QpAttrs::kMaxDestRead, &QpAttributes::max_dest_read);
  if (contains(given, QpAttrs::kMaxDestRead)) make_replay_room(qp.responder, own.max_dest_read);
  take(QpAttrs::kMaxRead, &QpAttributes::max_read);
  take(QpAttrs::kMinRnrTimer, &QpAttributes::min_rnr_timer);
  take(QpAttrs::kTimeout, &QpAttributes::timeout);
  take(QpAttrs::kRetryCount, &QpAttributes::retry_count);
  take(QpAttrs::kRnrRetry, &QpAttributes::rnr_retry);
  if (contains(given, QpAttrs::kRetryCount)) qp.requester.retries_left = own.retry_count;
  if (contains(given, QpAttrs::kRnrRetry)) qp.requester.rnr_retries_left = own.rnr_retry;
  if (contains(given, QpAttrs::kRateLimit)) {
    qp.program_rate = values.rate_limit;
    limit_rate(qp);
  }
  if (contains(given, QpAttrs::kPath)) {
    qp.flow = *port_.flow_to(own.path);
    qp.flow.source_port = source_port(own.path.flow_label, qp.qpn, own.dest_qp);
    // Mark-based congestion control needs packets that switches may mark.
    const bool marks = core_.config.flow_control.algorithm != CcAlgorithm::kNone;
    if (marks && qp.flow.ecn() == wire::Ecn::kNotCapable) qp.flow.set_ecn(wire::Ecn::kCapable0);
  }
}

void QpManager::enter(Qp& qp, QpState from, QpState to) {
  if (to == QpState::kReset) return reset(qp);
  if (to == QpState::kErr) {
    // A NAK that led to ERR is still sent; a NAK for a gap has become pointless.
    if (from != QpState::kErr) qp.responder.nak_due.reset();
    return completions_.enter_error(qp);
  }
  qp.state = to;
  if (to == QpState::kRtr && from == QpState::kInit) start_responder(qp);
  if (to == QpState::kRts && from == QpState::kRtr) start_requester(qp);
  if (to == QpState::kSqd) completions_.note_drained(qp);
  if (to == QpState::kRts || to == QpState::kSqd) core_.scheduler.wake(qp);
}

void QpManager::start_responder(Qp& qp) {
  const bool keeps = planted(Bug::kKeepsFirstMtu) && qp.mtu != 0;
  if (!keeps) qp.mtu = bytes(qp.datagram() ? core_.config.max_mtu : qp.attributes.path_mtu);
  qp.responder.expected = qp.attributes.rq_psn;
  qp.responder.ack_psn = qp.attributes.rq_psn + 0xff'ffffU;  // the one before
  qp.responder.pd = qp.pd;
  const SelectiveRepeatConfig& selective = core_.config.selective_repeat;
  if (qp.type == QpType::kRc && (selective.on || selective.offer)) {
    qp.repeat = std::make_unique<SelectiveRepeat>(core_.config.max_outstanding_packets);
    qp.selective = selective.on;
    qp.offers_selective = selective.offer;
    const UltraEthernetConfig& ultra = core_.config.ultra_ethernet;
    if (selective.on && ultra.any()) {
      qp.repeat->ultra =
          std::make_unique<UltraEthernet>(qp, ultra, core_.config.max_outstanding_packets);
      qp.repeat->ultra->demand_end = qp.responder.expected;
    }
  }
}

void QpManager::start_requester(Qp& qp) {
  RequesterState& state = qp.requester;
  state.unacked = state.next = state.sent_end = state.progress_noted = qp.attributes.sq_psn;
  if (qp.selective) qp.repeat->sent.begin(state.unacked);
  start_flow(qp);
}

void QpManager::start_flow(Qp& qp) {
  qp.pacer = Pacer{core_.config.flow_control.pacing_burst};
  qp.pacer.reset(core_.now);
  if (qp.connected()) {
    qp.congestion = make_congestion_control(core_.config.flow_control, core_.config.line_rate,
                                            qp.mtu, core_.counters);
  }
}

Status QpManager::redirect_flow(QpHandle handle, std::uint32_t flow_label) {
  constexpr std::uint32_t kLargestLabel = 0xf'ffff;
  Qp* qp = qps_.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "flow: no such QP");
  if (flow_label > kLargestLabel) {
    return refuse(ErrorCode::kInvalid, "flow: flow_label is 20 bits", flow_label, kLargestLabel);
  }
  if (!qp->connected() || qp->state != QpState::kRts) {
    return refuse(ErrorCode::kInvalid, "flow: the QP is not connected");
  }
  redirect(*qp, flow_label);
  return Done{};
}

Status QpManager::restart_flow(QpHandle handle, std::uint32_t flow_label) {
  Qp* qp = qps_.find(handle);
  if (qp != nullptr && !qp->sends.empty()) {
    return refuse(ErrorCode::kBusy, "restart flow: requests are outstanding");
  }
  if (const Status redirected = redirect_flow(handle, flow_label); !redirected) return redirected;
  qp->requester.flight = {};
  qp->requester.pace_at.reset();
  qp->cnp_limiter.reset();
  start_flow(*qp);
  core_.scheduler.rearm(*qp);
  return Done{};
}

void QpManager::reset(Qp& qp) {
  core_.scheduler.forget(qp);
  forget_completions(qp);
  core_.dma.unbind_windows_of(qp.qpn);
  ResponderState& responder = qp.responder;
  if (responder.receive_from != nullptr) responder.receive_from->give_back(responder.receive_slot);
  qp.responder = {};
  qp.requester = {};
  qp.selective = qp.offers_selective = false;
  qp.repeat.reset();
  qp.sends.clear();
  qp.receives.clear();
  qp.congestion.reset();
  qp.cnp_limiter.reset();
  qp.round_trip = {};
  qp.bytes_sent = qp.packets_retransmitted = 0;
  qp.program_rate = qp.steered_rate = {};
  qp.attributes = {};
  qp.peer = {};
  qp.access = {};
  qp.flow = {};
  qp.state = QpState::kReset;
  completions_.offer(qp);
}

}  // namespace nerve::nic
