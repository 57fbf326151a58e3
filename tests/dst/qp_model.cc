#include "tests/dst/qp_model.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace nerve::dst {

using nic::Completion;
using nic::SendOp;
using nic::WcStatus;

QpModel::QpModel(std::uint32_t id, Host& host, nic::QpHandle handle, Qpn qpn, nic::QpType type,
                 std::vector<ReceiveModel*> receives, Excuses excuses, EventQueue& events,
                 Journal& journal, std::uint64_t seed)
    : id_{id},
      host_{host},
      handle_{handle},
      qpn_{qpn},
      type_{type},
      receives_{std::move(receives)},
      excuses_{excuses},
      events_{events},
      journal_{journal},
      prng_{seed} {}

bool QpModel::violation(const std::string& what) {
  journal_.violation(events_.now(), "host " + std::to_string(host_.index()) + " qp " +
                                        std::to_string(qpn_.value()) + " (life " +
                                        std::to_string(id_) + "): " + what);
  return false;
}

ReceiveModel* QpModel::receives(std::size_t id) const {
  const auto found = std::ranges::find(receives_, id, [](const auto* each) { return each->id(); });
  return found == receives_.end() ? nullptr : *found;
}

bool QpModel::settled() const {
  if (overrun_) return true;
  if (send_error_ || flushed_) return completed_ == requests_.size();
  return std::none_of(requests_.begin() + static_cast<std::ptrdiff_t>(completed_), requests_.end(),
                      [](const Request& r) { return r.signaled; });
}

void QpModel::posted(Request request) {
  if (journal_.tracing()) {
    journal_.line(events_.now(), "host " + std::to_string(host_.index()) + " posts  " +
                                     name_of(request.op) + " #" + std::to_string(requests_.size()) +
                                     " of life " + std::to_string(id_) + " len " +
                                     std::to_string(request.message.size()) +
                                     (request.signaled ? " signaled" : ""));
  }
  // In program order, so that a later READ of the same bytes is predicted correctly.
  for (const Patch& patch : request.remote) patch.memory->expect(patch.offset, patch.after);
  if (request.must_be != WcStatus::kSuccess) {
    doomed_ = true;
    if (peer_ != nullptr) peer_->doom();
  }
  requests_.push_back(std::move(request));
}

void QpModel::send_completed(const Completion& completion) {
  const std::size_t index = completion.wr_id & 0xffff'ffff;
  if (journal_.tracing()) {
    journal_.line(events_.now(), "host " + std::to_string(host_.index()) + " sees   " +
                                     name_of(completion.status) + " of #" + std::to_string(index) +
                                     " of life " + std::to_string(id_));
  }
  if (ended_ || index >= requests_.size() || index < completed_) {
    violation("request #" + std::to_string(index) +
              " completed twice, out of order, after reset or destroy, or was never posted");
    return;
  }
  if (completion.qpn != qpn_) violation("a completion with the wrong qpn");
  for (; completed_ < index; ++completed_) {
    Request& silent = requests_[completed_];
    if (silent.signaled || send_error_ || flushed_) {
      violation("no completion of request #" + std::to_string(completed_) + " (" +
                name_of(silent.op) + ")");
    }
    confirm(silent);
  }
  Request& request = requests_[completed_++];
  switch (completion.status) {
    case WcStatus::kSuccess:
      check_success(request, completion);
      confirm(request);
      return;
    case WcStatus::kFlushed:
      // settle() checks that there was a reason, which may be polled later than this.
      flushed_ = true;
      leave_open(request);
      return;
    default:
      check_status(request, completion.status);
      if (on_error_) on_error_(completion.status);
      leave_open(request);
      send_error_ = true;
      fail();
  }
}

void QpModel::check_success(const Request& request, const Completion& completion) {
  if (send_error_ || flushed_) violation("success after an error");
  if (!request.signaled) violation("a completion of an unsignaled request");
  if (request.must_be != WcStatus::kSuccess) {
    violation(std::string{name_of(request.op)} + " succeeded, but must end with " +
              name_of(request.must_be));
  }
  if (completion.opcode != completion_opcode(request.op)) violation("wrong opcode of completion");
  const bool tells_length = request.op == SendOp::kRead || request.op == SendOp::kCompareSwap ||
                            request.op == SendOp::kFetchAdd;
  if (tells_length && completion.bytes != request.message.size()) {
    violation(std::string{name_of(request.op)} + " tells " + std::to_string(completion.bytes) +
              " bytes instead of " + std::to_string(request.message.size()));
  }
}

void QpModel::check_status(const Request& request, WcStatus status) {
  if (send_error_ || flushed_) violation("a second error instead of a flush");
  if (status == request.must_be) return;
  const bool peer_gone = peer_ != nullptr && (peer_->doomed_ || peer_->failed_ || doomed_);
  switch (status) {
    case WcStatus::kRetryExceeded:
      if (excuses_.retries_may_fail || peer_gone) return;
      break;
    case WcStatus::kRnrRetryExceeded:
      if (request.takes_from != nullptr && request.takes_from->has_fallen_behind() &&
          !excuses_.endless_rnr) {
        return;
      }
      break;
    case WcStatus::kRemoteOperation:
      if (request.takes_from != nullptr && request.takes_from->has_bad()) return;
      break;
    case WcStatus::kRemoteAccess:
      // A region was re-registered under a request; SEND_INV also needs its window to exist.
      if (peer_ != nullptr && peer_->doomed_ && request.window) return;
      break;
    case WcStatus::kLocalProtection:
      if (request.uses_desk && doomed_) return;
      break;
    default:
      break;
  }
  violation(std::string{name_of(request.op)} + " #" + std::to_string(completed_ - 1) +
            " ended with " + name_of(status) + ", expected " + name_of(request.must_be));
}

void QpModel::fail() {
  failed_ = true;
  if (on_failure_) on_failure_();
}

// The request is known to have been executed.
void QpModel::confirm(Request& request) {
  request.confirmed = true;
  if (request.counter != nullptr) check_counter(request);
  for (const Patch& patch : request.local) {
    const std::vector<std::byte> now = patch.memory->left_by_requests(patch.offset, patch.length);
    if (now != patch.after) {
      violation(std::string{name_of(request.op)} + " #" + std::to_string(request.wr_id & 0xffff) +
                " brought wrong bytes");
    }
    patch.memory->expect_of_request(patch.offset, patch.after);
  }
  if (!reliable()) {
    // UC reports that a message was sent, never that it arrived.
    for (const Patch& patch : request.remote) patch.memory->leave_open(patch);
  } else {
    check_target(request);
    const std::size_t index = request.wr_id & 0xffff'ffff;
    if (request.takes_from != nullptr && peer_ != nullptr) {
      // The peer's receive must have completed; its CQ may not have been polled yet.
      events_.after({}, [this, index] {
        peer_->host().poll_all();
        if (delivered_ <= index && !peer_->ended_ && !peer_->neglected_) {
          violation("request #" + std::to_string(index) + " completed before the peer had it");
        }
      });
    }
  }
  for (const Range& range : request.scratch) {
    host_.memory().scramble(range.offset, range.length, prng_);
  }
  if (on_confirmed_) on_confirmed_(request);
}

// An acknowledged WRITE is in the peer's memory now, unless a later request of this QP has replaced
// it.
void QpModel::check_target(const Request& request) {
  for (const Patch& patch : request.remote) {
    const std::vector<std::byte> now = patch.memory->left_by_requests(patch.offset, patch.length);
    if (now == patch.after) continue;
    for (std::size_t i = 0; i < patch.length; ++i) {
      if (now[i] == patch.after[i]) continue;
      const std::size_t at = patch.offset + i;
      const bool replaced =
          std::any_of(requests_.begin() + static_cast<std::ptrdiff_t>(request.wr_id & 0xffff'ffff),
                      requests_.end(), [&](const Request& later) {
                        return std::ranges::any_of(later.remote, [&](const Patch& p) {
                          return p.memory == patch.memory && at >= p.offset &&
                                 at < p.offset + p.length && p.after[at - p.offset] == now[i];
                        });
                      });
      if (replaced) continue;
      violation(std::string{name_of(request.op)} + " #" + std::to_string(request.wr_id & 0xffff) +
                " completed but the target differs at byte " + std::to_string(i) + " of " +
                std::to_string(patch.length));
      return;
    }
  }
}

void QpModel::check_counter(Request& request) {
  SharedCounter& counter = *request.counter;
  const Patch& result = request.local.front();
  std::uint64_t found = 0;
  std::memcpy(&found, result.memory->actual(result.offset, 8).data(), 8);
  if (!counter.returned.empty() && last_counter_ > found) {
    violation("a shared counter went backwards in the eyes of one qp");
  }
  last_counter_ = found;
  ++counter.certain;
  counter.returned.push_back(found);
  // The returned value could not be predicted; from now on it is known.
  request.local.front().after.assign(result.memory->actual(result.offset, 8).begin(),
                                     result.memory->actual(result.offset, 8).end());
}

// The request failed: it may have been executed in part, in whole or not at all.
void QpModel::leave_open(Request& request) {
  if (request.must_be != WcStatus::kSuccess && request.remote.empty() && request.local.empty()) {
    return;
  }
  if (request.counter != nullptr) ++request.counter->possible;
  for (const Patch& patch : request.remote) patch.memory->leave_open(patch);
  for (const Patch& patch : request.local) patch.memory->leave_open(patch);
}

void QpModel::voided() {
  for (; completed_ < requests_.size(); ++completed_) leave_open(requests_[completed_]);
  for (ReceiveModel* receives : receives_) {
    receives->leave_open_in_progress();
    if (neglected_) receives->leave_all_open();
    if (receives->shared()) {
      receives->may_have_lost_one();
    } else {
      receives->clear();
    }
  }
  doomed_ = true;
  ended_ = true;
}

void QpModel::check_flush_reason() {
  if ((flushed_ || flushed_a_receive_) && !failed_ && !doomed_) {
    violation("flushed without a reason");
  }
}

void QpModel::settle() {
  if (ended_) return;
  if (overrun_) return voided();
  if (!settled()) {
    violation("never completed: " + describe());
  }
  for (; completed_ < requests_.size(); ++completed_) leave_open(requests_[completed_]);
  for (ReceiveModel* receives : receives_) {
    if (receives->shared() || receives->outstanding() == 0) continue;
    violation(std::to_string(receives->outstanding()) + " receives were not flushed");
    receives->clear();
  }
  ended_ = true;
}

std::string QpModel::describe() const {
  std::string text = std::to_string(outstanding()) + " of " + std::to_string(requests_.size()) +
                     " requests outstanding";
  if (completed_ < requests_.size()) {
    text += ", first #" + std::to_string(completed_) + " " + name_of(requests_[completed_].op);
  }
  return text;
}

}  // namespace nerve::dst
