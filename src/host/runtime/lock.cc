#include "host/runtime/lock.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

// Longer than a thread holds the lock, unless it was preempted. The pauses between attempts grow,
// so that many waiting threads do not slow down the one that holds the lock.
constexpr int kSpins = 500;
constexpr int kLongestPause = 64;

constexpr std::uint64_t kHandOverEveryNs = 1'000'000;

}  // namespace

struct Lock::Sleeper {
  enum State : std::uint32_t { kAsleep, kMayTry, kHasLock };
  std::atomic<std::uint32_t> state{kAsleep};
  Sleeper* next{};
  bool woken_before{};
};

void Lock::follow() {
  release();
  joined_.load(std::memory_order_relaxed)->lock();
}

bool Lock::try_lock() {
  if (Lock* const other = joined_.load(std::memory_order_relaxed)) return other->try_lock();
  if (!try_own()) return false;
  Lock* const other = joined_.load(std::memory_order_relaxed);
  if (other == nullptr) return true;
  release();
  return other->try_lock();
}

bool Lock::try_own() {
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  while ((word & kTaken) == 0) {
    if (word_.compare_exchange_weak(word, word | kTaken, std::memory_order_acquire,
                                    std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

void Lock::wait() {
  Sleeper sleeper;
  while (!spin() && !take_or_queue(sleeper)) {
    while (sleeper.state.load(std::memory_order_acquire) == Sleeper::kAsleep) {
      ::syscall(SYS_futex, &sleeper.state, FUTEX_WAIT_PRIVATE, Sleeper::kAsleep, nullptr, nullptr,
                0);
    }
    if (sleeper.state.load(std::memory_order_relaxed) == Sleeper::kHasLock) return;
    sleeper.woken_before = true;
  }
}

bool Lock::spin() {
  for (int spins = 0, pause = 1; spins < kSpins;
       spins += pause, pause = std::min(2 * pause, kLongestPause)) {
    if (try_own()) return true;
    for (int i = 0; i < pause; ++i) relax();
  }
  return false;
}

bool Lock::take_or_queue(Sleeper& sleeper) {
  const std::scoped_lock guard{queue_};
  // If the lock is taken, kWanted is set before it can be released, so that the release wakes us.
  // If it is free, we take it.
  std::uint32_t word = word_.load(std::memory_order_relaxed);
  for (;;) {
    const std::uint32_t wish = (word & kTaken) == 0 ? word | kTaken : word | kWanted;
    if (!word_.compare_exchange_weak(word, wish, std::memory_order_acquire,
                                     std::memory_order_relaxed)) {
      continue;
    }
    if ((word & kTaken) == 0) return true;
    break;
  }
  sleeper.state.store(Sleeper::kAsleep, std::memory_order_relaxed);
  // A sleeper that was woken but lost the race goes back to the front of the queue.
  if (sleeper.woken_before || first_ == nullptr) {
    sleeper.next = first_;
    first_ = &sleeper;
    if (last_ == nullptr) last_ = &sleeper;
  } else {
    sleeper.next = nullptr;
    last_->next = &sleeper;
    last_ = &sleeper;
  }
  return false;
}

void Lock::wake_first() {
  std::atomic<std::uint32_t>* state = nullptr;
  {
    const std::scoped_lock guard{queue_};
    Sleeper& woken = *first_;
    first_ = woken.next;
    if (first_ == nullptr) last_ = nullptr;
    const std::uint32_t wanted = first_ != nullptr ? kWanted : 0;
    const std::uint64_t at = clock_ns(CLOCK_MONOTONIC);
    const bool hand_over = at >= hand_over_at_ns_;
    if (hand_over) hand_over_at_ns_ = at + kHandOverEveryNs;
    word_.store(hand_over ? wanted | kTaken : wanted, std::memory_order_release);
    state = &woken.state;
    // From here on the sleeper may be gone. The kernel only uses the address as a key.
    state->store(hand_over ? Sleeper::kHasLock : Sleeper::kMayTry, std::memory_order_release);
  }
  ::syscall(SYS_futex, state, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void pause_briefly() {
  constexpr int kPauses = 16;
  for (int i = 0; i < kPauses; ++i) relax();
}

}  // namespace nerve::host
