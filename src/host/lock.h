// The host's lock. Every verb takes it, and holds it for a fraction of a microsecond, so taking it
// free is one instruction. A thread that finds it taken spins for a moment and then sleeps in a
// queue, first come, first served.
//
// Whoever releases the lock wakes the first sleeper and lets it compete with threads that are
// running: handing the lock to a thread that first has to get a processor would make every other
// thread wait for the scheduler, at every verb (a lock convoy). But once a millisecond the lock is
// handed to the first sleeper itself, so that a sleeper waits for a millisecond at most for each
// thread ahead of it, however busy the running threads keep the lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace nerve::host {

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() {
    std::uint32_t word = 0;
    if (!word_.compare_exchange_strong(word, kTaken, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      wait();
    }
  }
  [[nodiscard]] bool try_lock();
  void unlock() {
    std::uint32_t word = kTaken;
    if (!word_.compare_exchange_strong(word, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      wake_first();
    }
  }

 private:
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kWanted = 2;  // the queue is not empty

  struct Sleeper;

  void wait();
  [[nodiscard]] bool spin();
  // True when the lock turned out to be free and is ours now.
  [[nodiscard]] bool take_or_queue(Sleeper& sleeper);
  void wake_first();

  std::atomic<std::uint32_t> word_{};
  // Guards the queue, the time, and every change of kWanted.
  std::mutex queue_;
  Sleeper* first_{};
  Sleeper* last_{};
  std::uint64_t hand_over_at_ns_{};
};

// Long enough for a thread that spins at a lock to get it. To yield would be to ask for a place at
// the end of the queue for the processor, which may be milliseconds long.
void pause_briefly();

}  // namespace nerve::host
