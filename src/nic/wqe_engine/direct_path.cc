// The requester's use of the direct path (nic/direct_path.h).
#include "nic/direct_path.h"

#include <algorithm>
#include <array>

#include "nic/qp_context/qp_trace.h"
#include "nic/wqe_engine/requester.h"

namespace nerve::nic {
namespace {

// Requests from this size on are copied in parts.
constexpr std::uint32_t kLarge = 16 << 10;

// The cost of a system call, as the number of bytes copied in the same time.
constexpr std::uint32_t kCallCost = 4096;

// A READ into several SGEs is copied through a buffer of this size.
constexpr std::uint32_t kLongestBuffered = 4096;

}  // namespace

// Only if the QP has nothing in flight, because earlier requests must be executed first, and only
// if the program has polled since the last direct request. For a program that keeps posting,
// packets are better: many small ones leave together, and large ones are copied by two CPUs in
// parallel. The host may override this (is_better_for).
bool Requester::may_take_direct_path(const Qp& qp, const SendWqe& wqe) const {
  if (core_.direct_path == nullptr || qp.type != QpType::kRc) return false;
  if (wqe.op != SendOp::kWrite && wqe.op != SendOp::kRead) return false;
  const RequesterState& state = qp.requester;
  if (wqe.started || wqe.length == 0 || state.unacked != state.next) return false;
  if (state.placed > 0 || core_.direct_path->is_better_for(wqe.length)) return true;
  return qp.sends.tail - qp.sends.head == 1 && qp.send_cq->polls != state.polls_at_direct_path;
}

Requester::Step Requester::take_direct_path(Qp& qp, SendWqe& wqe, TxBurst& burst) {
  RequesterState& state = qp.requester;
  if (core_.dma.has_late() && reads_late_memory(qp)) return Step::kBlocked;
  if (copy_budget_ == 0) return Step::kPaused;
  std::uint32_t part = wqe.length - state.placed;
  if (wqe.length >= kLarge) part = std::min(part, copy_budget_);
  copy_budget_ -= std::min(std::max(part, kCallCost), copy_budget_);
  state.polls_at_direct_path = qp.send_cq->polls;
  const DirectPath::Place place{.flow = qp.flow,
                                .from = qp.qpn,
                                .to = qp.peer,
                                .key = wqe.rkey,
                                .address = wqe.remote_address + state.placed};
  const bool done = wqe.op == SendOp::kWrite ? write_directly(qp, wqe, place, part, burst)
                                             : read_directly(qp, wqe, place, part);
  if (!done) {
    state.placed = 0;  // the whole request is sent as packets
    return Step::kBlocked;
  }
  if (traces_sends(core_.trace, qp)) [[unlikely]] {
    trace_direct(*core_.trace, qp, part);
  }
  state.placed += part;
  if (state.placed < wqe.length) return Step::kPaused;
  state.placed = 0;
  completions_.finish_send(qp, WcStatus::kSuccess);
  return Step::kSkipped;
}

bool Requester::suits_late_copy(const Qp& qp, const SendWqe& wqe) const {
  if (core_.direct_path == nullptr || qp.type != QpType::kRc) return false;
  if (wqe.op != SendOp::kWrite && wqe.op != SendOp::kWriteImm && wqe.op != SendOp::kRead) {
    return false;
  }
  if (wqe.op == SendOp::kRead && qp.attributes.max_read == 0) return false;
  return !wqe.started && !wqe.placed && wqe.length > 0 && wqe.sge_count == 1 &&
         !contains(wqe.flags, SendFlags::kInline);
}

// Earlier requests must be executed first. A QP that has copied before waits until they are
// acknowledged: as packets, the request would take longer.
bool Requester::waits_to_copy(const Qp& qp, const SendWqe& wqe) const {
  return qp.landing != nullptr && qp.landing->direct > 0 &&
         qp.requester.unacked != qp.requester.next && suits_late_copy(qp, wqe) &&
         reads_late_memory(qp);
}

// Copies follow each other without waiting, and the request counts as done: its completion waits
// until the bytes have landed, like all that come later. A WRITE with immediate data then sends a
// packet without payload.
bool Requester::copy_late(Qp& qp, SendWqe& wqe) {
  const Sge& sge = qp.sends.list_at(qp.sends.cursor)[0];
  const bool reads = wqe.op == SendOp::kRead;
  const auto local = core_.dma.resolve_local(sge.lkey, qp.pd, sge.address, wqe.length,
                                             reads ? Access::kLocalWrite : Access::kNone);
  if (!local || !core_.dma.is_late(*local)) return false;
  const DirectPath::Place place{.flow = qp.flow,
                                .from = qp.qpn,
                                .to = qp.peer,
                                .key = wqe.rkey,
                                .address = wqe.remote_address};
  const bool begun = reads ? core_.direct_path->begin_read(place, *local)
                           : core_.direct_path->begin_write(place, *local);
  if (!begun) return false;
  completions_.note_copied(qp);
  core_.counters.late_bytes_copied += wqe.length;
  if (traces_sends(core_.trace, qp)) [[unlikely]] {
    trace_direct(*core_.trace, qp, wqe.length);
  }
  if (wqe.op == SendOp::kWriteImm) {
    wqe.placed = true;
    wqe.packets = 1;
  } else {
    completions_.finish_send(qp, WcStatus::kSuccess);
  }
  return true;
}

// Or memory that it may not use, which the next packet reports. If that made a difference, a QP
// could have to stop waiting when its program deregisters memory.
bool Requester::reads_late_memory(const Qp& qp) const {
  const std::span<const Sge> list = qp.sends.list_at(qp.sends.cursor);
  return std::ranges::any_of(list, [&](const Sge& sge) {
    const auto piece = core_.dma.resolve_local(sge.lkey, qp.pd, sge.address, 1, Access::kNone);
    return !piece || core_.dma.is_late(*piece);
  });
}

bool Requester::write_directly(Qp& qp, SendWqe& wqe, const DirectPath::Place& place,
                               std::uint32_t length, TxBurst& burst) {
  const wire::Frame& frame = burst.add();
  const bool gathered =
      wqe.packets == 1
          ? build(qp, qp.sends.cursor, qp.requester.next, burst) == WcStatus::kSuccess
          : !contains(wqe.flags, SendFlags::kInline) &&
                core_.dma.gather(qp.sends.list_at(qp.sends.cursor), qp.requester.placed, length,
                                 qp.pd, burst) == Gathered::kDone;
  const bool done = gathered && core_.direct_path->write(place, frame.payload);
  burst.drop_last();
  return done;
}

bool Requester::read_directly(Qp& qp, const SendWqe& wqe, const DirectPath::Place& place,
                              std::uint32_t length) {
  if (qp.attributes.max_read == 0) return false;
  const std::span<const Sge> list = qp.sends.list_at(qp.sends.cursor);
  if (list.size() == 1) {
    const auto into = core_.dma.resolve_local(
        list[0].lkey, qp.pd, list[0].address + qp.requester.placed, length, Access::kLocalWrite);
    if (!into || into->port != nullptr) return false;
    return core_.direct_path->read(place,
                                   {reinterpret_cast<std::byte*>(into->address), into->length});
  }
  if (wqe.length > kLongestBuffered) return false;
  std::array<std::byte, kLongestBuffered> bytes;
  const wire::Piece fetched{.address = reinterpret_cast<std::uint64_t>(bytes.data()),
                            .length = wqe.length};
  return core_.direct_path->read(place, {bytes.data(), wqe.length}) &&
         core_.dma.scatter(list, 0, {&fetched, 1}, qp.pd).has_value();
}

}  // namespace nerve::nic
