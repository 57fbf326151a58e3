#include "host/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace nerve::host {
namespace {

// Longer than anybody holds it, unless he lost his processor.
constexpr int kSpins = 1000;

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");
#endif
}

}  // namespace

void Lock::wait() {
  for (int i = 0; i < kSpins; ++i) {
    relax();
    std::uint32_t free = 0;
    if (word_.load(std::memory_order_relaxed) == 0 &&
        word_.compare_exchange_weak(free, 1, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return;
    }
  }
  // From here on whoever lets go must wake somebody: there may be others asleep beside us.
  while (word_.exchange(2, std::memory_order_acquire) != 0) {
    ::syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 2, nullptr, nullptr, 0);
  }
}

void Lock::wake() { ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0); }

void pause_briefly() {
  constexpr int kPauses = 16;
  for (int i = 0; i < kPauses; ++i) relax();
}

}  // namespace nerve::host
