// The host's lock. It is held for a fraction of a microsecond at a time and taken at every verb, so
// it is one word that a free taker takes with one instruction; one who finds it taken spins a
// little and then asks the kernel to wait.
//
//   0 free   1 taken   2 taken, and somebody may be asleep
#pragma once

#include <atomic>
#include <cstdint>

namespace nerve::host {

class Lock {
 public:
  Lock() = default;
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

  void lock() {
    std::uint32_t free = 0;
    if (!word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                       std::memory_order_relaxed)) {
      wait();
    }
  }
  [[nodiscard]] bool try_lock() {
    std::uint32_t free = 0;
    return word_.compare_exchange_strong(free, 1, std::memory_order_acquire,
                                         std::memory_order_relaxed);
  }
  void unlock() {
    if (word_.exchange(0, std::memory_order_release) == 2) wake();
  }

 private:
  void wait();
  void wake();

  std::atomic<std::uint32_t> word_{};
};

// Long enough for whoever spins at a lock to get it. To yield would be to ask for a place at the
// end of the queue for the processor, which may be milliseconds long.
void pause_briefly();

}  // namespace nerve::host
