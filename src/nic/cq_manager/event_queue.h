// Events waiting for next_event(), oldest first. Events are rare (arming is one-shot, errors happen
// once), so the queue may grow. Once grown it does not allocate again, because a program that
// sleeps between completions causes an event for each.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "nic/event.h"

namespace nerve::nic {

class EventQueue {
 public:
  [[nodiscard]] bool empty() const { return head_ == events_.size(); }

  void push(const Event& event) {
    // Compacts a queue that is never quite empty, so that it does not grow without bound.
    if (head_ >= kSlack && head_ * 2 >= events_.size()) drop_taken();
    events_.push_back(event);
  }
  std::optional<Event> pop() {
    if (empty()) return std::nullopt;
    const Event event = events_[head_++];
    if (empty()) drop_taken();
    return event;
  }

  // Drops the undelivered events of an object that is destroyed.
  void forget(CqHandle cq) {
    forget_if([&](const Event& e) { return e.cq && e.cq == cq; });
  }
  void forget(QpHandle qp) {
    forget_if([&](const Event& e) { return e.qp && e.qp == qp; });
  }
  void forget(SrqHandle srq) {
    forget_if([&](const Event& e) { return e.srq && e.srq == srq; });
  }

 private:
  static constexpr std::size_t kSlack = 64;

  void drop_taken() {
    events_.erase(events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }
  template <class Predicate>
  void forget_if(Predicate predicate) {
    drop_taken();
    std::erase_if(events_, predicate);
  }

  std::vector<Event> events_;  // those before head_ were taken
  std::size_t head_{};
};

}  // namespace nerve::nic
