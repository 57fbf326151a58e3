#include "nic/rx_handler/rx_handler.h"

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "wire/selective_nak.h"

namespace nerve::nic {
namespace {

constexpr std::uint32_t kMulticastQpn = 0xff'ffff;

bool is_write_middle(wire::Opcode code) {
  return code == wire::opcode(wire::Transport::kRc, wire::Operation::kWriteMiddle);
}

}  // namespace

void RxHandler::receive(std::span<const wire::Frame> frames) {
  for (std::size_t i = 0; i < frames.size(); ++i) {
    Qp* const qp = receive_one(frames[i]);
    if (qp != nullptr && is_write_middle(frames[i].headers.bth.opcode) && i + 1 < frames.size()) {
      i += responder_.continue_write(*qp, frames.subspan(i));
    }
  }
}

// Frames that no QP takes may come at line rate. They cost a few comparisons and one lookup, which
// reads one word of a table.
Qp* RxHandler::receive_one(const wire::Frame& frame) {
  ++core_.counters.frames_received;
  if (!port_.active()) {
    ++core_.counters.dropped_bad_state;
    return nullptr;
  }
  const wire::Bth& bth = frame.headers.bth;
  const wire::OpcodeInfo* info = wire::find_opcode(bth.opcode);
  if (info == nullptr || bth.version != 0) {
    ++core_.counters.dropped_malformed;
    return nullptr;
  }
  if (frame.flow.ecn() == wire::Ecn::kCongestion) ++core_.counters.ecn_marked_received;
  if (Qp* const qp = qps_.find(bth.dest_qp)) [[likely]] {
    to_qp(*qp, frame, *info);
    return qp;
  }
  if (bth.dest_qp.value() == kMulticastQpn) {
    to_group(frame, *info);
  } else if (bth.dest_qp == kGsiQpn) {
    cm_.get().receive(frame, core_.now);  // a program with a GSI QP of its own receives them itself
  } else {
    ++core_.counters.dropped_no_qp;
  }
  return nullptr;
}

void RxHandler::to_group(const wire::Frame& frame, const wire::OpcodeInfo& info) {
  const std::vector<Qp*>* members = groups_.members(frame.flow.destination);
  if (members == nullptr) {
    ++core_.counters.dropped_wrong_address;
    return;
  }
  for (Qp* qp : *members) {
    // The sending QP does not receive its own datagram (IBTA 10.5.2.2).
    const bool own = qp->qpn == frame.headers.deth.source_qp && port_.owns(frame.flow.source);
    if (!own) to_qp(*qp, frame, info);
  }
}

void RxHandler::to_qp(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info) {
  const bool is_cnp = info.role == wire::Role::kNotification;
  const bool is_response = info.role == wire::Role::kResponse;
  if (is_response ? traces_sends(core_.trace, qp) : traces_messages(core_.trace, qp)) [[unlikely]] {
    trace_arrival(*core_.trace, qp, frame, is_response);
  }
  if (!is_cnp && info.transport != qp.transport()) {
    ++core_.counters.dropped_wrong_transport;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kWrongTransport);
  }
  if (!qp.can_receive()) {
    ++core_.counters.dropped_bad_state;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kBadState);
  }
  const wire::Flow& flow = frame.flow;
  const bool is_multicast = frame.headers.bth.dest_qp.value() == kMulticastQpn;
  if (qp.connected()) {
    // A connected QP accepts packets only from its peer.
    if (flow.source != qp.flow.destination || flow.destination != qp.flow.source) {
      ++core_.counters.dropped_wrong_address;
      return trace_refusal(core_.trace, qp, frame, TraceRefusal::kWrongAddress);
    }
  } else if (!is_multicast && !port_.owns(flow.destination)) {
    // Multicast addresses are accepted only with the multicast QPN. Otherwise anyone could reach a
    // QP that is in no group.
    ++core_.counters.dropped_wrong_address;
    return;
  }

  // The GSI QP accepts any partition of the port, other QPs only their own.
  const PKey theirs = frame.headers.bth.pkey;
  std::uint16_t pkey_index = 0;
  bool admitted = Port::same_partition(qp.pkey, theirs);
  if (qp.type == QpType::kGsi) {
    const std::optional<std::uint16_t> match = port_.match_pkey(theirs);
    admitted = match.has_value();
    pkey_index = match.value_or(0);
  } else if (qp.datagram()) {
    pkey_index = qp.attributes.pkey_index;
  }
  if (!admitted) {
    ++core_.counters.dropped_bad_pkey;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kBadPkey);
  }

  if (is_cnp) return completer_.on_cnp(qp);
  if (qp.offers_selective && !qp.selective &&
      (wire::is_selective_capable(frame.headers.bth) || planted(Bug::kSelectiveNakToAny)) &&
      is_current(qp, frame, info)) {
    begin_selective(qp, core_.now);
  }
  if (flow.ecn() == wire::Ecn::kCongestion) {
    const bool near = qp.connected() && is_near(qp, frame, info);
    if (near) note_congestion_mark(qp);
    if (frame.trimmed) [[unlikely]] {  // it is always marked as well
      if (near && qp.reliable() && !is_response) responder_.on_trimmed(qp, frame);
      return;
    }
  }
  if (qp.datagram()) return datagrams_.on_datagram(qp, frame, info, pkey_index);
  if (info.role == wire::Role::kResponse) {
    if (qp.type == QpType::kXrcRecv) {
      ++core_.counters.dropped_wrong_transport;
      return;
    }
    return completer_.on_response(qp, frame, info);
  }
  if (qp.type == QpType::kXrcSend) {
    ++core_.counters.dropped_wrong_transport;
    return;
  }
  if (!frame.telemetry.empty()) [[unlikely]] {
    if (!qp.responder.telemetry) qp.responder.telemetry = std::make_unique<TelemetryEcho>();
    qp.responder.telemetry->keep(frame.telemetry);
  }
  responder_.on_request(qp, frame, info);
}

bool RxHandler::is_near(const Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info) {
  if (!qp.reliable()) return true;
  const Psn psn = frame.headers.bth.psn;
  if (info.role == wire::Role::kResponse) {
    const RequesterState& state = qp.requester;
    return in_flight(state, psn) || psn_span(psn, state.sent_end) <= kWidestWindow;
  }
  return !Responder::is_far(psn.distance_from(qp.responder.expected), info);
}

bool RxHandler::is_current(const Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info) {
  const Psn psn = frame.headers.bth.psn;
  if (info.role == wire::Role::kResponse) return in_flight(qp.requester, psn);
  return psn_span(qp.responder.expected, psn) < qp.repeat->held.window();
}

void RxHandler::note_congestion_mark(Qp& qp) {
  if (!qp.cnp_limiter.on_mark(core_.config.flow_control.cnp_interval, core_.now)) return;
  qp.responder.cnp_due = true;
  core_.scheduler.wake(qp);
}

}  // namespace nerve::nic
