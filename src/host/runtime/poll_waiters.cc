#include "host/runtime/poll_waiters.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace nerve::host {

EmptyPolls& EmptyPolls::of_this_thread() {
  thread_local EmptyPolls polls;
  return polls;
}

void EmptyPolls::note(nic::Nic& nic, nic::CqHandle cq, const Lock& lock, Time now) {
  if (count_++ == 0) {
    last_ = now;
    spun_ = {};
    queues_ = 0;
    lock_ = &lock;
    several_ = false;
  }
  spun_ += std::min(now - last_, kLongestPoll);
  last_ = now;
  several_ = several_ || lock_ != &lock;
  const Polled polled{&nic, cq};
  const auto known = std::span{polled_}.first(std::min<std::size_t>(queues_, polled_.size()));
  if (std::ranges::find(known, polled) != known.end()) return;
  polled_[queues_++ % polled_.size()] = polled;
}

bool EmptyPolls::anything_completed() const {
  const auto known = std::span{polled_}.first(std::min<std::size_t>(queues_, polled_.size()));
  return std::ranges::any_of(
      known, [](const Polled& polled) { return polled.nic->completions_waiting(polled.cq) > 0; });
}

PollWaiters::Woken PollWaiters::take_ready(bool by_post) {
  Woken ready;
  for (Waiter* waiter : all_) {
    if (ready.count == ready.sleepers.size()) break;  // the next session wakes the others
    const bool awake = waiter->awake.load(std::memory_order_relaxed) != 0;
    if (awake || !waiter->polls.anything_completed()) continue;
    waiter->awake.store(1, std::memory_order_release);
    waiter->woken_by_post = by_post;
    if (waiter->listens) {
      ready.listener = true;
    } else {
      ready.sleepers[ready.count++] = &waiter->awake;
    }
  }
  return ready;
}

void PollWaiters::leave() {
  all_.clear();
  set_listens(false);
}

void sleep_until_woken(PollWaiters::Waiter& waiter, Duration at_most) {
  const auto ns = std::chrono::ceil<std::chrono::nanoseconds>(at_most).count();
  const timespec limit{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  ::syscall(SYS_futex, &waiter.awake, FUTEX_WAIT_PRIVATE, 0, &limit, nullptr, 0);
}

void wake_sleepers(const PollWaiters::Woken& woken) {
  for (std::size_t i = 0; i < woken.count; ++i) {
    ::syscall(SYS_futex, woken.sleepers[i], FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }
}

}  // namespace nerve::host
