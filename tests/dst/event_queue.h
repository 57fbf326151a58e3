// Events in time order; events at equal times run in the order of scheduling, so that a run depends
// on its seed alone.
#pragma once

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/time.h"

namespace nerve::dst {

class EventQueue {
 public:
  [[nodiscard]] Time now() const { return now_; }
  // The age of the world, without clock jumps.
  [[nodiscard]] Duration age() const { return now_ - begin_ - jumped_; }
  [[nodiscard]] Time at_age(Duration age) const { return begin_ + jumped_ + age; }
  [[nodiscard]] bool has_jumped() const { return jumped_ > Duration{}; }
  [[nodiscard]] bool empty() const { return heap_.empty(); }

  // A time in the past means now.
  void at(Time when, std::function<void()> action) {
    heap_.push({when < now_ ? now_ : when, next_ticket_++, std::move(action)});
  }
  void after(Duration delay, std::function<void()> action) { at(now_ + delay, std::move(action)); }

  // To be called before anything is scheduled.
  void begin_at(Time when) { now_ = begin_ = when; }
  // Advances the clock without running events, as when a machine sleeps; events that became due are
  // late.
  void jump(Duration by) {
    now_ += by;
    jumped_ += by;
  }

  // Runs the next event; false when there is none before `limit`.
  bool step(Time limit) {
    if (heap_.empty() || heap_.top().when > limit) return false;
    // The action may schedule more, so the event leaves the heap before it runs.
    Event event = std::move(const_cast<Event&>(heap_.top()));
    heap_.pop();
    now_ = std::max(now_, event.when);
    event.action();
    return true;
  }

 private:
  struct Event {
    Time when;
    std::uint64_t ticket;
    std::function<void()> action;
    bool operator<(const Event& o) const {
      return when != o.when ? when > o.when : ticket > o.ticket;
    }
  };

  std::priority_queue<Event> heap_;
  Time now_{};
  Time begin_{};
  Duration jumped_{};
  std::uint64_t next_ticket_{};
};

}  // namespace nerve::dst
