// Deadlines of many owners, earliest first; equal deadlines expire in the order of their last
// arming.
//
// Each owner embeds a Timer. Postponing a deadline costs a few stores: the heap keeps the old key
// and moves the timer back when that key reaches the front. This is the common case of a
// retransmission timer, which every acknowledgement postpones and which almost never fires.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/fetch_lines.h"
#include "base/time.h"

namespace nerve {

struct Timer {
  Time deadline{};         // as requested by the owner
  Time key{};              // that of its entry in the heap, so that arming need not look there
  std::uint64_t ticket{};  // order of arming; breaks ties between equal deadlines
  bool armed{};            // false: the heap drops the entry when it reaches the front
  std::uint32_t place{};   // index in the heap plus one; zero when not in it
};

template <class Owner, Timer Owner::*Member>
class TimerHeap {
 public:
  void arm(Owner& owner, Time deadline) {
    Timer& timer = owner.*Member;
    timer.deadline = deadline;
    timer.ticket = next_ticket_++;
    timer.armed = true;
    if (timer.place == 0) {
      timer.key = deadline;
      heap_.push_back({deadline, timer.ticket, &owner});
      timer.place = static_cast<std::uint32_t>(heap_.size());
      sift_up(heap_.size() - 1);
    } else if (deadline < timer.key) {
      timer.key = deadline;
      heap_[timer.place - 1].key = deadline;
      heap_[timer.place - 1].ticket = timer.ticket;
      sift_up(timer.place - 1);
    } else if (timer.place == 1) {
      settled_ = 0;
    }
  }
  void disarm(Owner& owner) {
    (owner.*Member).armed = false;
    if ((owner.*Member).place == 1) settled_ = 0;
  }

  // Must be called before an owner is destroyed.
  void remove(Owner& owner) {
    Timer& timer = owner.*Member;
    if (timer.place != 0) erase_at(timer.place - 1);
    timer.armed = false;
  }

  [[nodiscard]] std::optional<Time> next_deadline() {
    settle();
    if (heap_.empty()) return std::nullopt;
    return heap_.front().key;
  }

  // Returns the first owner whose deadline is at or before `now`, disarmed; null when there is
  // none.
  [[nodiscard]] Owner* pop_expired(Time now) {
    settle();
    if (heap_.empty() || heap_.front().key > now) return nullptr;
    Owner* owner = heap_.front().owner;
    erase_at(0);
    (owner->*Member).armed = false;
    return owner;
  }

  // For prefetching: the owner at the front of the heap, which may be disarmed or postponed, and
  // the heap's own memory.
  [[nodiscard]] Owner* first() const { return heap_.empty() ? nullptr : heap_.front().owner; }
  void fetch() const { fetch_line(heap_.data()); }

 private:
  struct Entry {
    Time key;
    std::uint64_t ticket;
    Owner* owner;
    friend bool operator<(const Entry& a, const Entry& b) {
      return a.key != b.key ? a.key < b.key : a.ticket < b.ticket;
    }
  };

  // Brings the true earliest deadline to the front: drops disarmed timers and moves postponed ones
  // back.
  void settle() {
    while (settled_ == 0 && !heap_.empty()) {
      Timer& timer = heap_.front().owner->*Member;
      if (!timer.armed) {
        erase_at(0);
      } else if (timer.ticket != heap_.front().ticket) {
        // The timer was armed again for a later time, or for the same time behind other timers.
        timer.key = timer.deadline;
        heap_.front().key = timer.deadline;
        heap_.front().ticket = timer.ticket;
        sift_down(0);
      } else {
        settled_ = 1;
      }
    }
  }

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    (entry.owner->*Member).place = static_cast<std::uint32_t>(at + 1);
  }
  void sift_up(std::size_t at) {
    const Entry entry = heap_[at];
    while (at > 0) {
      const std::size_t parent = (at - 1) / kWays;
      if (!(entry < heap_[parent])) break;
      put(at, heap_[parent]);
      at = parent;
    }
    put(at, entry);
  }
  void sift_down(std::size_t at) {
    const Entry entry = heap_[at];
    while (true) {
      const std::size_t first = at * kWays + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      for (std::size_t i = first + 1; i < first + kWays && i < heap_.size(); ++i) {
        if (heap_[i] < heap_[least]) least = i;
      }
      if (!(heap_[least] < entry)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }
  void erase_at(std::size_t at) {
    (heap_[at].owner->*Member).place = 0;
    const Entry last = heap_.back();
    heap_.pop_back();
    settled_ = 0;
    if (at == heap_.size()) return;
    put(at, last);
    sift_up(at);
    sift_down((last.owner->*Member).place - 1);
  }

  static constexpr std::size_t kWays = 4;
  std::vector<Entry> heap_;
  std::uint64_t next_ticket_ : 63 {};
  // The first entry is known to be that of an armed timer, with its deadline. Then its owner, which
  // may not be in the cache, need not be looked at.
  std::uint64_t settled_ : 1 {};
};

}  // namespace nerve
