// Events waiting for next_event(), oldest first. Events are rare (arming is one-shot, errors
// happen once), so the queue may grow.
#pragma once

#include <deque>
#include <optional>

#include "nic/event.h"

namespace nerve::nic {

class EventQueue {
 public:
  void push(const Event& event) { events_.push_back(event); }
  std::optional<Event> pop() {
    if (events_.empty()) return std::nullopt;
    const Event event = events_.front();
    events_.pop_front();
    return event;
  }
  // An object that dies takes its undelivered events along.
  void forget(CqHandle cq) {
    std::erase_if(events_, [&](const Event& e) { return e.cq && e.cq == cq; });
  }
  void forget(QpHandle qp) {
    std::erase_if(events_, [&](const Event& e) { return e.qp && e.qp == qp; });
  }
  void forget(SrqHandle srq) {
    std::erase_if(events_, [&](const Event& e) { return e.srq && e.srq == srq; });
  }

 private:
  std::deque<Event> events_;
};

}  // namespace nerve::nic
