#include "nic/rx_handler/datagrams.h"

#include <algorithm>
#include <array>

#include "base/planted.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/rx_handler/grh.h"

namespace nerve::nic {
namespace {

std::vector<Qp*>::iterator find_member(std::vector<Qp*>& members, Qp& qp) {
  return std::find(members.begin(), members.end(), &qp);
}

}  // namespace

Status MulticastGroups::attach(Qp& qp, const wire::Gid& group) {
  if (qp.type != QpType::kUd) return refuse(ErrorCode::kInvalid, "attach: only UD QPs can");
  if (!group.is_multicast()) return refuse(ErrorCode::kInvalid, "attach: not a multicast GID");
  auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.gid == group; });
  if (found == groups_.end()) {
    if (groups_.size() == limits_.max_mcast_groups) {
      return refuse(ErrorCode::kLimit, "attach: too many groups", groups_.size(),
                    limits_.max_mcast_groups);
    }
    found = groups_.insert(groups_.end(), Group{.gid = group, .members = {}});
  }
  if (find_member(found->members, qp) != found->members.end()) return Done{};
  if (found->members.size() == limits_.max_mcast_qps) {
    return refuse(ErrorCode::kLimit, "attach: too many QPs in the group", found->members.size(),
                  limits_.max_mcast_qps);
  }
  found->members.push_back(&qp);
  return Done{};
}

Status MulticastGroups::detach(Qp& qp, const wire::Gid& group) {
  const auto found =
      std::find_if(groups_.begin(), groups_.end(), [&](const Group& g) { return g.gid == group; });
  if (found == groups_.end()) return refuse(ErrorCode::kInvalid, "detach: not attached");
  const auto member = find_member(found->members, qp);
  if (member == found->members.end()) return refuse(ErrorCode::kInvalid, "detach: not attached");
  found->members.erase(member);
  if (found->members.empty()) groups_.erase(found);
  return Done{};
}

void MulticastGroups::forget(Qp& qp) {
  for (Group& group : groups_) std::erase(group.members, &qp);
  std::erase_if(groups_, [](const Group& group) { return group.members.empty(); });
}

std::vector<wire::Gid> MulticastGroups::list() const {
  std::vector<wire::Gid> gids;
  for (const Group& group : groups_) gids.push_back(group.gid);
  return gids;
}

const std::vector<Qp*>* MulticastGroups::members(const wire::Gid& group) const {
  for (const Group& g : groups_) {
    if (g.gid == group) return &g.members;
  }
  return nullptr;
}

void Datagrams::on_datagram(Qp& qp, const wire::Frame& frame, const wire::OpcodeInfo& info,
                            std::uint16_t pkey_index) {
  if (frame.headers.deth.qkey != qp.attributes.qkey && !planted(Bug::kUdAcceptsAnyQkey)) {
    ++core_.counters.dropped_bad_qkey;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kBadQkey);
  }
  if (frame.payload_length > qp.mtu) {
    ++core_.counters.dropped_malformed;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kTooLong);
  }
  if (!receives_.take(qp, 0)) {
    ++core_.counters.dropped_no_receive;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kNoReceive);
  }
  ResponderState& state = qp.responder;
  // A datagram longer than its receive is dropped and the receive is kept for the next one. A
  // datagram from an arbitrary sender must not be able to stop the QP.
  if (state.receive_from->at(state.receive_slot).capacity < kGrhSize + frame.payload_length) {
    ++core_.counters.dropped_malformed;
    return trace_refusal(core_.trace, qp, frame, TraceRefusal::kTooLong);
  }
  const std::array<std::byte, kGrhSize> grh = grh_of(frame);
  const wire::Piece piece{.address = reinterpret_cast<std::uint64_t>(grh.data()),
                          .length = kGrhSize};
  const auto list = state.receive_from->sges_of(state.receive_slot);
  const bool of_srq = state.receive_srq != nullptr && !planted(Bug::kUdSrqUsesQpDomain);
  const PdHandle pd = of_srq ? state.receive_srq->pd : qp.pd;
  if (traces_messages(core_.trace, qp)) [[unlikely]]
    trace_message(*core_.trace, qp, TraceStep::kChecked, frame);
  const auto header = core_.dma.scatter(list, 0, {&piece, 1}, pd);
  const auto payload = header ? core_.dma.scatter(list, kGrhSize, frame.payload, pd) : header;
  const bool placed = payload.has_value();
  if (header) completions_.note_placed(qp, *header);
  if (payload) completions_.note_placed(qp, *payload);
  Completion completion{.status = placed ? WcStatus::kSuccess : WcStatus::kLocalProtection,
                        .opcode = WcOpcode::kRecv,
                        .flags = WcFlags::kGrh,
                        .service_level = packet_type_of(frame),
                        .pkey_index = pkey_index,
                        .bytes = kGrhSize + frame.payload_length,
                        .source_qpn = frame.headers.deth.source_qp};
  if (contains(info.headers, wire::HeaderSet::kImmDt)) {
    completion.flags |= WcFlags::kImmediate;
    completion.immediate = frame.headers.immediate;
  }
  if (traces_messages(core_.trace, qp)) [[unlikely]]
    trace_message(*core_.trace, qp, TraceStep::kPlaced, frame);
  core_.counters.bytes_received += frame.payload_length;
  completions_.finish_receive(qp, completion, frame.headers.bth.solicited);
  if (traces_messages(core_.trace, qp)) [[unlikely]]
    count_message(*core_.trace, qp);
  if (!placed) completions_.enter_error(qp);
}

}  // namespace nerve::nic
