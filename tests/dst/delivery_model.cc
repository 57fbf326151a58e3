// The receiving half of QpModel: which message a completed receive holds.
#include <algorithm>
#include <cstring>

#include "tests/dst/qp_model.h"

namespace nerve::dst {

using nic::Completion;
using nic::SendOp;
using nic::WcFlags;
using nic::WcOpcode;
using nic::WcStatus;

namespace {

bool is_write_imm(const Request& request) { return request.op == SendOp::kWriteImm; }

}  // namespace

bool QpModel::receive_completed(const Completion& completion) {
  if (journal_.tracing()) {
    journal_.line(events_.now(), "host " + std::to_string(host_.index()) + " sees   receive " +
                                     std::to_string(completion.wr_id & 0xffff'ffff) + " of life " +
                                     std::to_string(id_) + ": " + name_of(completion.status) +
                                     ", " + std::to_string(completion.bytes) + " bytes");
  }
  if (ended_) return violation("a receive completed after reset or destroy");
  ReceiveModel& from = *receives((completion.wr_id & ~ReceiveModel::kMark) >> 32U);
  const std::optional<Receive> receive = from.take(completion.wr_id);
  if (!receive) return violation("a receive completed out of order, twice, or was never posted");
  // QPs that share a queue complete their messages in any order, but each takes its receives in
  // order.
  std::uint64_t& last = last_receive_[from.id()];
  if (completion.wr_id < last) violation("a shared receive was taken out of order");
  last = completion.wr_id;
  switch (completion.status) {
    case WcStatus::kSuccess:
      if (flushed_a_receive_) violation("a receive succeeded after a flush");
      // A UC message that was cut short leaves its bytes in the receive, which the next one uses.
      if (!reliable() && excuses_.network_is_bad) from.leave_open(*receive);
      if (receive->bad && completion.opcode == WcOpcode::kRecv && completion.bytes > 0) {
        violation("a receive succeeded with keys that give no access");
      }
      return peer_->delivered(completion, *receive, from);
    case WcStatus::kFlushed:
      // Only the first one can have been in use; the others must be unchanged.
      if (!flushed_a_receive_) from.leave_open(*receive);
      flushed_a_receive_ = true;
      return false;
    case WcStatus::kLocalProtection:
      if (!receive->bad) violation("a receive with good keys ended with a protection error");
      break;
    case WcStatus::kLocalLength:
      from.leave_open(*receive);
      if (!doomed_ && !peer_->doomed_) {
        violation(std::string{"a receive ended with "} + name_of(completion.status));
      }
      break;
    case WcStatus::kLocalAccess:
      // The receive of a WRITE with immediate whose key grants no access; its own bytes are
      // unchanged.
      if (!peer_->may_lack_access()) violation("a receive ended with an access error");
      break;
    default:
      violation(std::string{"a receive ended with "} + name_of(completion.status));
  }
  fail();
  return false;
}

bool QpModel::may_lack_access() const {
  return std::ranges::any_of(requests_, [&](const Request& request) {
    const bool moved_under_it = request.window && peer_->doomed_;
    return is_write_imm(request) && !request.confirmed &&
           (request.must_be == WcStatus::kRemoteAccess || moved_under_it);
  });
}

bool QpModel::delivered(const Completion& completion, const Receive& receive,
                        const ReceiveModel& from) {
  // UC may lose whole messages, but those that arrive are whole. It does not detect duplicates: a
  // packet that opens a message is accepted with any PSN (IBTA 9.8.2.2), so messages arrive once
  // and in order only on a network that neither reorders nor duplicates.
  const bool any_order = !reliable() && excuses_.network_repeats;
  for (std::size_t i = any_order ? 0 : delivered_; i < requests_.size(); ++i) {
    Request& request = requests_[i];
    if (request.takes_from == nullptr) continue;
    if (!reliable() && !matches(request, completion, receive, from.memory())) continue;
    delivered_ = i + 1;
    if (request.takes_from != &from) violation("a message took a receive of another srq");
    check_delivery(request, completion, receive, from.memory());
    return request.solicited && reliable();  // which of two equal messages UC delivered is unknown
  }
  return violation("the peer received a message that was not sent, or has received it already");
}

bool QpModel::matches(const Request& request, const Completion& completion, const Receive& receive,
                      const MemoryModel& memory) const {
  if (completion.bytes != request.message.size()) return false;
  if (contains(completion.flags, WcFlags::kImmediate) != has_immediate(request.op)) return false;
  if (has_immediate(request.op) && completion.immediate != request.immediate) return false;
  const bool is_write = completion.opcode == WcOpcode::kRecvWriteImm;
  if (is_write != is_write_imm(request)) return false;
  if (is_write) return true;
  std::size_t done = 0;
  for (const Range& range : receive.ranges) {
    const std::size_t some = std::min(range.length, request.message.size() - done);
    if (!std::ranges::equal(memory.actual(range.offset, some),
                            Bytes{request.message}.subspan(done, some))) {
      return false;
    }
    done += some;
  }
  return done == request.message.size();
}

void QpModel::check_delivery(const Request& request, const Completion& completion,
                             const Receive& receive, MemoryModel& memory) {
  const std::string who = std::string{name_of(request.op)} + " #" +
                          std::to_string(request.wr_id & 0xffff'ffff) + " arrived ";
  if (request.must_be != WcStatus::kSuccess) violation(who + "but must fail");
  if (completion.bytes != request.message.size()) {
    violation(who + "with " + std::to_string(completion.bytes) + " bytes instead of " +
              std::to_string(request.message.size()));
    return;
  }
  if (contains(completion.flags, WcFlags::kImmediate) != has_immediate(request.op) ||
      (has_immediate(request.op) && completion.immediate != request.immediate)) {
    violation(who + "with the wrong immediate");
  }
  const bool invalidates = request.op == SendOp::kSendInvalidate;
  if (contains(completion.flags, WcFlags::kInvalidate) != invalidates ||
      (invalidates && completion.immediate != request.invalidate.value())) {
    violation(who + "with the wrong invalidated key");
  }
  if (completion.opcode != (is_write_imm(request) ? WcOpcode::kRecvWriteImm : WcOpcode::kRecv)) {
    violation(who + "with the wrong opcode");
  }
  if (completion.qpn != peer_->qpn()) violation(who + "with the wrong qpn");
  if (is_write_imm(request)) {
    if (reliable()) check_target(request);
    return;
  }
  std::size_t done = 0;
  for (const Range& range : receive.ranges) {
    const std::size_t some = std::min(range.length, request.message.size() - done);
    const Bytes part = Bytes{request.message}.subspan(done, some);
    if (!std::ranges::equal(memory.actual(range.offset, some), part)) {
      violation(who + "with wrong bytes");
    }
    memory.expect(range.offset, part);
    done += some;
  }
}

}  // namespace nerve::dst
