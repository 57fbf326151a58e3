// How threads of the program that poll drive a shard, and when they sleep instead (decision 0013).
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

  // For a thread that polls: drives when there is a reason to. True when the thread is to give way
  // to others if the poll finds nothing for it.
  bool poll();
  // For one whose poll found something at once: drives now and then.
  void poll_after_success();
  // The thread found something, after a drive() or at once.
  void found_something() const {
    if (contended_) EmptyPolls::of_this_thread().reset();
  }
  // It found nothing. True when it has slept, because CPUs are contended, and should look once
  // more. Releases the lock meanwhile.
  [[nodiscard]] bool found_nothing(nic::Nic& nic, nic::CqHandle cq);
  void note_post() const {
    if (contended_) EmptyPolls::of_this_thread().note_post();
  }

  // At the last look: polls that find nothing should sleep. Also without the lock.
  [[nodiscard]] bool cpus_contended() const { return contended_; }
  // For the background thread, which takes part in the looking.
  [[nodiscard]] bool look_for_contention(Time at);

  PollWaiters waiters;

 private:
  void look_at_machine(Time at);
  // Sleeps until something completes on a CQ that the thread polls, or for a moment.
  void sleep(EmptyPolls& polls);
  // The part of it that is for one thread at a time: sleeps until frames come, and takes them in.
  void listen_for_frames(PollWaiters::Waiter& self, Duration at_most);

  Shard& shard_;
  Crowd crowd_;
  Contention contention_;
  std::atomic<bool> contended_{};
  std::uint32_t polls_{};
  std::uint32_t fruitful_polls_{};
};

}  // namespace nerve::host
