// Threads of the program that sleep inside ibv_poll_cq() because other threads need their CPUs.
//
// An empty poll normally returns at once, and the program spins. On a machine under load, spinning
// takes the time slice of the thread that would send the awaited message. There a thread that has
// polled in vain for a while sleeps, for a fraction of a millisecond at most. One of the sleeping
// threads listens for frames in place of the background thread and drives the engine; it and the
// others are woken when a CQ that they poll gets a completion.
//
// Guarded by the shard's lock, unless a comment says otherwise.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "host/adapter.h"
#include "host/runtime/lock.h"

namespace nerve::host {

// The CQs that a thread has polled in vain since it last found a completion.
class EmptyPolls {
 public:
  static EmptyPolls& of_this_thread();

  // `lock` is the one that guards the CQ.
  void note(nic::Nic& nic, nic::CqHandle cq, const Lock& lock, Time now);
  void reset() { count_ = 0; }
  // The time that these polls took. A thread that yields between polls, or was preempted, has not
  // spun meanwhile.
  [[nodiscard]] Duration spun() const { return spun_; }
  // True if the CQs are guarded by more than one lock, so that anything_completed() cannot check
  // them all.
  [[nodiscard]] bool in_several_shards() const { return several_; }
  // True if a poll would find a completion now. The caller holds the lock; in_several_shards() is
  // false.
  [[nodiscard]] bool anything_completed() const;
  // The thread has posted, or goes to sleep. A thread that sleeps again and again without posting
  // polls on behalf of other threads.
  void note_post() { sleeps_ = 0; }
  void note_sleep() { ++sleeps_; }
  [[nodiscard]] bool only_polls() const { return sleeps_ >= kManySleeps; }
  // True if its last wake-up came from a thread that posted, and that may have more to post on the
  // CPU on which this thread would spin.
  [[nodiscard]] bool woken_by_post() const { return woken_by_post_; }
  void set_woken_by_post(bool by_post) { woken_by_post_ = by_post; }

 private:
  static constexpr std::uint32_t kManySleeps = 4;
  // An empty poll takes less; the rest of the time between two polls was spent otherwise.
  static constexpr Duration kLongestPoll = std::chrono::microseconds{2};

  struct Polled {
    nic::Nic* nic{};
    nic::CqHandle cq{};
    friend bool operator==(const Polled&, const Polled&) = default;
  };

  std::uint32_t count_{};
  Time last_{};
  Duration spun_{};
  const Lock* lock_{};
  bool several_{};
  std::uint32_t sleeps_{};  // since it last posted
  bool woken_by_post_{};
  std::uint32_t queues_{};
  std::array<Polled, 8> polled_{};  // the most recent ones, if there are more
};

class PollWaiters {
 public:
  struct Waiter {
    const EmptyPolls& polls;
    bool listens{};
    std::optional<bool> woken_by_post{};  // none: not woken
    std::atomic<std::uint32_t> awake{1};
  };
  // The threads to wake after the lock is released. The addresses may be stale by then; the kernel
  // only uses them as keys.
  struct Woken {
    std::array<std::atomic<std::uint32_t>*, 8> sleepers{};
    std::size_t count{};
    bool listener{};
  };

  void add(Waiter& waiter) { all_.push_back(&waiter); }
  void remove(Waiter& waiter) { std::erase(all_, &waiter); }
  [[nodiscard]] bool any() const { return !all_.empty(); }
  [[nodiscard]] bool any_that_only_polls() const {
    return std::ranges::any_of(all_,
                               [](const Waiter* waiter) { return waiter->polls.only_polls(); });
  }
  // Marks and returns the threads that sleep although something has completed for them. `by_post`:
  // completed by a post, not by received frames.
  [[nodiscard]] Woken take_ready(bool by_post = false);

  // True if one of them listens for frames. Also without the lock.
  [[nodiscard]] bool listens() const { return listens_.load(std::memory_order_relaxed); }
  void set_listens(bool listens) { listens_.store(listens, std::memory_order_relaxed); }

  // Called in the child of a fork(), which has none of these threads.
  void leave();

 private:
  std::vector<Waiter*> all_;
  std::atomic<bool> listens_{};
};

// Without the lock: sleeps until the waiter is woken, or for this long.
void sleep_until_woken(PollWaiters::Waiter& waiter, Duration at_most);
// Without the lock: wakes threads in sleep_until_woken().
void wake_sleepers(const PollWaiters::Woken& woken);

}  // namespace nerve::host
