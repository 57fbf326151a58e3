// Events that wait for a program to fetch them, behind a descriptor that it can poll.
//
// The descriptor behaves like the kernel's: read blocks or fails with EAGAIN according to
// O_NONBLOCK, poll and epoll report it readable while an event waits, and a signal interrupts it.
// It is an eventfd used as a flag, not as a count: it is signalled while the queue is not empty,
// and a thread that consumes the signal and leaves events behind signals it again.
//
// A program may cancel (pthread_cancel) a thread that waits here, as it may one that waits in the
// kernel. glibc then unwinds the stack with its own unwinder, not the one that libibverbs.so.1
// brings along, and terminates the process at the first of our frames that is noexcept or has a
// cleanup. So waiting and taking are separate steps, and a function that calls await_signal() must
// be neither: code with cleanups is called from it and not inlined.
#pragma once

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

#include "host/host.h"
#include "link/system_calls.h"

namespace nerve::host {

// Waits until the queue has events, unless the descriptor is non-blocking. False, with errno, on
// failure.
inline bool await_signal(int fd) {
  std::uint64_t news{};
  return ::read(fd, &news, sizeof news) == sizeof news;
}

// Lets other threads run. Not a cancellation point.
inline void sleep_millisecond() {
  pollfd nothing{.fd = -1, .events = 0, .revents = 0};
  (void)link::system::poll(nothing, 1);
}

template <class Event>
class EventQueue {
 public:
  EventQueue() : fd_{::eventfd(0, EFD_CLOEXEC)} {}
  ~EventQueue() {
    if (fd_ >= 0) ::close(fd_);
  }
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Negative if the process has no descriptor left.
  [[nodiscard]] int fd() const { return fd_; }

  // True in the child of a fork: a thread that does not exist there may hold the lock, and the
  // events belong to the parent.
  [[nodiscard]] bool inherited() const { return generation_ != generation(); }

  [[nodiscard]] bool empty() const {
    if (inherited()) return true;
    const std::scoped_lock guard{lock_};
    return events_.empty();
  }

  void push(const Event& event) {
    if (inherited()) return;
    const std::scoped_lock guard{lock_};
    events_.push_back(event);
    set_signal();
  }

  // Removes the oldest event, for a thread that await_signal() has woken. `take` sees it before
  // forget() can drop it. False if another thread took it first.
  template <class Take>
  bool next(Take take) {
    const std::scoped_lock guard{lock_};
    if (events_.empty()) return false;
    take(std::as_const(events_.front()));
    events_.pop_front();
    if (!events_.empty()) set_signal();
    return true;
  }

  // Passes the oldest event, if any, to `look`, which may change it. If `look` returns true, the
  // event stays in the queue, and the descriptor is signalled again.
  template <class Look>
  bool put_off(Look look) {
    if (inherited()) return false;
    const std::scoped_lock guard{lock_};
    if (events_.empty() || !look(events_.front())) return false;
    set_signal();  // a new edge for edge-triggered epoll
    return true;
  }

  // Moves unfetched events to another queue.
  template <class Predicate>
  void move_to(EventQueue& other, Predicate wanted) {
    std::deque<Event> moved;
    forget([&](const Event& event) {
      if (!wanted(event)) return false;
      moved.push_back(event);
      return true;
    });
    for (const Event& event : moved) other.push(event);
  }

  // Drops unfetched events of an object that is being destroyed.
  template <class Predicate>
  void forget(Predicate unwanted) {
    if (inherited()) return;
    const std::scoped_lock guard{lock_};
    if (std::erase_if(events_, unwanted) == 0 || !events_.empty()) return;
    // A thread in await_signal() may consume the signal before us, so do not block.
    std::uint64_t news{};
    const iovec into{&news, sizeof news};
    [[maybe_unused]] const auto taken = ::preadv2(fd_, &into, 1, -1, RWF_NOWAIT);
  }

 private:
  void set_signal() {
    // A direct system call: libc's write() may be intercepted as a command (src/preload).
    const std::uint64_t one = 1;
    (void)link::system::write(fd_, &one, sizeof one);
  }

  int fd_;
  const std::uint32_t generation_{generation()};
  mutable std::mutex lock_;
  std::deque<Event> events_;
};

}  // namespace nerve::host
