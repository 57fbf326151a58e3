// The lock of a shard. Every verb takes it and holds it for a fraction of a microsecond, so taking
// a free lock is one instruction. A thread that finds it taken spins for a moment and then sleeps
// in a FIFO queue.
//
// A release wakes the first sleeper and lets it compete with running threads. Handing the lock over
// directly would make every other thread wait, at every verb, until the sleeper gets a CPU (a lock
// convoy). But once a millisecond the lock is handed to the first sleeper, so that a sleeper waits
// at most one millisecond for each thread ahead of it, however busy the running threads keep the
// lock.
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
  // True if any thread held it a moment ago.
  [[nodiscard]] bool is_taken() const {
    const Lock* const other = joined_.load(std::memory_order_relaxed);
    return ((other != nullptr ? other : this)->word_.load(std::memory_order_relaxed) & kTaken) != 0;
  }
  void unlock() {
    if (Lock* const other = joined_.load(std::memory_order_relaxed)) return other->unlock();
    release();
  }

  // From now on locking this lock locks `other`. The caller holds both, and afterwards only
  // `other`. A thread that was waiting for this lock gets it once more and follows to `other`.
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
  void follow();  // the lock was joined while we waited
  [[nodiscard]] bool try_own();
  [[nodiscard]] bool spin();
  // True if the lock turned out to be free and was taken.
  [[nodiscard]] bool take_or_queue(Sleeper& sleeper);
  void wake_first();

  std::atomic<std::uint32_t> word_{};
  std::atomic<Lock*> joined_{};
  // Guards the queue, hand_over_at_ns_, and every change of kWanted.
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

// Long enough for a spinning thread to take the lock. Yielding instead would put this thread at the
// end of the run queue, which may take milliseconds.
void pause_briefly();

}  // namespace nerve::host
