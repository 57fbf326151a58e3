// How polling threads of the program drive a shard, and when they sleep instead (decision 0013).
//
// Guarded by the shard's lock, unless a comment says otherwise.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/time.h"
#include "host/runtime/contention.h"
#include "host/runtime/crowd.h"
#include "host/runtime/poll_waiters.h"

namespace nerve::host {

class Shard;

class Polling {
 public:
  explicit Polling(Shard& shard) : shard_{shard} {}

  // True if poll() and found_nothing() would do nothing; counts as a poll then.
  [[nodiscard]] bool idle();
  // Drives the shard if there is something to do. Returns true if the calling thread should yield
  // if its poll finds nothing.
  bool poll();
  // For a thread whose poll found completions at once: drives the shard now and then.
  void poll_after_success();
  // The thread found completions, at once or after poll().
  void found_something() const {
    if (contended_) EmptyPolls::of_this_thread().reset();
  }
  // The thread found nothing. Returns true if it has slept, because CPUs are contended, and should
  // poll once more. Releases the lock while sleeping.
  [[nodiscard]] bool found_nothing(nic::Nic& nic, nic::CqHandle cq);
  void note_post() const {
    if (contended_) EmptyPolls::of_this_thread().note_post();
  }

  // True if, at the last check, CPUs were contended, so that empty polls should sleep. Also without
  // the lock.
  [[nodiscard]] bool cpus_contended() const { return contended_; }
  // For the background thread, which takes part in the detection.
  [[nodiscard]] bool look_for_contention(Time at);

  PollWaiters waiters;

 private:
  void look_at_machine(Time at);
  // Sleeps until something completes on a CQ that the thread polls, or for kLongestSleep.
  void sleep(EmptyPolls& polls);
  // The part of it that only one thread at a time does: sleeps until frames come, and receives
  // them.
  void listen_for_frames(PollWaiters::Waiter& self, Duration at_most);

  Shard& shard_;
  Crowd crowd_;
  Contention contention_;
  std::atomic<bool> contended_{};
  std::uint32_t polls_{};
  std::uint32_t fruitful_polls_{};
};

}  // namespace nerve::host
