// The oracle's view of one armed CQ: which events it must raise, and by when.
//
// A program arms a queue and then polls it empty. Every later completion that matches the arming
// must raise an event: immediately or, if the queue is moderated, when enough of them wait or the
// first has waited for a period.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/time.h"
#include "nic/work.h"

namespace nerve::dst {

class CqWatch {
 public:
  void armed(bool solicited_only) {
    armed_ = true;
    solicited_only_ = solicited_only;
  }
  void emptied() { owes_ = armed_; }
  // An event that was held back when moderation changes may keep its old deadline.
  void moderated(std::uint32_t count, Duration period) {
    count_ = std::max(1U, count);
    wait_ = std::max(wait_, period);
    next_wait_ = period;
  }
  void told() {
    armed_ = owes_ = false;
    wait_ = next_wait_;
    unannounced_.clear();
  }
  // A completion was polled. `solicited`: its sender asked for an event; a failure always does.
  void polled(const nic::Completion& completion, bool solicited, Time now) {
    const bool wanted =
        !solicited_only_ || solicited || completion.status != nic::WcStatus::kSuccess;
    if (owes_ && wanted) unannounced_.push_back(now);
  }
  // To be called when no event is pending.
  [[nodiscard]] bool overdue(Time now) const {
    if (unannounced_.size() >= count_) return true;
    return !unannounced_.empty() && now > unannounced_.front() + wait_;
  }
  [[nodiscard]] bool is_armed() const { return armed_; }

 private:
  bool armed_{};
  bool solicited_only_{};
  bool owes_{};  // polled empty since it was armed
  std::uint32_t count_{1};
  Duration wait_{};
  Duration next_wait_{};
  std::vector<Time> unannounced_;  // when each was seen, which is not before it completed
};

}  // namespace nerve::dst
