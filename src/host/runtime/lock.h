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
    if (Lock* const other = joined_.load(std::memory_order_relaxed)) return other->lock();
    std::uint32_t word = 0;
    if (!word_.compare_exchange_strong(word, kTaken, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      wait();
    }
    if (joined_.load(std::memory_order_relaxed) != nullptr) [[unlikely]]
      follow();
  }
  [[nodiscard]] bool try_lock();
  // By anybody, a moment ago.
  [[nodiscard]] bool is_taken() const {
    const Lock* const other = joined_.load(std::memory_order_relaxed);
    return ((other != nullptr ? other : this)->word_.load(std::memory_order_relaxed) & kTaken) != 0;
  }
  void unlock() {
    if (Lock* const other = joined_.load(std::memory_order_relaxed)) return other->unlock();
    release();
  }

  // From now on this lock is `other`: whoever takes the one takes the other. The caller holds both,
  // and afterwards `other` alone.
  void join(Lock& other) {
    joined_.store(&other, std::memory_order_relaxed);
    release();
  }

 private:
  static constexpr std::uint32_t kTaken = 1;
  static constexpr std::uint32_t kWanted = 2;  // the queue is not empty

  struct Sleeper;

  void release() {
    std::uint32_t word = kTaken;
    if (!word_.compare_exchange_strong(word, 0, std::memory_order_release,
                                       std::memory_order_relaxed)) {
      wake_first();
    }
  }

  void wait();
  void follow();  // joined while we waited
  [[nodiscard]] bool try_own();
  [[nodiscard]] bool spin();
  // True when the lock turned out to be free and is ours now.
  [[nodiscard]] bool take_or_queue(Sleeper& sleeper);
  void wake_first();

  std::atomic<std::uint32_t> word_{};
  std::atomic<Lock*> joined_{};
  // Guards the queue, the time, and every change of kWanted.
  std::mutex queue_;
  Sleeper* first_{};
  Sleeper* last_{};
  std::uint64_t hand_over_at_ns_{};
};

// For a loop that waits for memory to change.
inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

// Long enough for a thread that spins at a lock to get it. To yield would be to ask for a place at
// the end of the queue for the processor, which may be milliseconds long.
void pause_briefly();

}  // namespace nerve::host
