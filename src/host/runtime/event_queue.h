// Events that wait for a program to fetch them, behind a descriptor that it can poll.
//
// The descriptor behaves as the kernel's do: reading waits or fails with EAGAIN as O_NONBLOCK says,
// poll and epoll see it readable while an event waits, a signal interrupts. It is an eventfd that
// holds no count, only the news that the queue is not empty: whoever takes the news and leaves
// events behind gives it back.
//
// A program may cancel a thread that waits (pthread_cancel), as it may one that waits in a kernel.
// glibc then unwinds the thread's stack with an unwinder that is not ours, for libibverbs.so.1
// brings its own, and that ends the process at the first of our frames that has anything to clean
// up or is noexcept. So waiting and taking are two steps, and a function that calls await_news()
// has neither: what has is called by it and not inlined.
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

// The news of a queue: waits for it unless the descriptor says not to. False: errno says why.
inline bool await_news(int fd) {
  std::uint64_t news{};
  return ::read(fd, &news, sizeof news) == sizeof news;
}

// For other threads to get on. This one is not cancelled there.
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

  // Negative when the process has no descriptor left.
  [[nodiscard]] int fd() const { return fd_; }

  // In the child of a fork: a thread that is not here may hold the lock, and the news are the
  // parent's to read.
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
    give_news();
  }

  // The oldest event, for a thread that has had the news. `take` sees it before anyone can forget
  // it. False when another thread was here before.
  template <class Take>
  bool next(Take take) {
    const std::scoped_lock guard{lock_};
    if (events_.empty()) return false;
    take(std::as_const(events_.front()));
    events_.pop_front();
    if (!events_.empty()) give_news();
    return true;
  }

  // Gives the oldest event, if there is one, to `look`, which may change it. True, and the news is
  // given once more, when it says that the event shall be asked for again.
  template <class Look>
  bool put_off(Look look) {
    if (inherited()) return false;
    const std::scoped_lock guard{lock_};
    if (events_.empty() || !look(events_.front())) return false;
    give_news();  // a new edge, for who waits for edges
    return true;
  }

  // Events that nobody fetched go to another queue.
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

  // Drops events that nobody fetched, of an object that is going.
  template <class Predicate>
  void forget(Predicate unwanted) {
    if (inherited()) return;
    const std::scoped_lock guard{lock_};
    if (std::erase_if(events_, unwanted) == 0 || !events_.empty()) return;
    // A thread in await_news() may be ahead of us, so this must not wait.
    std::uint64_t news{};
    const iovec into{&news, sizeof news};
    [[maybe_unused]] const auto taken = ::preadv2(fd_, &into, 1, -1, RWF_NOWAIT);
  }

 private:
  void give_news() {
    // Not by libc's write(), which may be a command to whoever the descriptor is of (src/preload).
    const std::uint64_t one = 1;
    (void)link::system::write(fd_, &one, sizeof one);
  }

  int fd_;
  const std::uint32_t generation_{generation()};
  mutable std::mutex lock_;
  std::deque<Event> events_;
};

}  // namespace nerve::host
