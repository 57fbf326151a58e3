// Events that wait for a program to fetch them, behind a descriptor that it can poll.
//
// The descriptor behaves as the kernel's do: reading waits or fails with EAGAIN as O_NONBLOCK says,
// poll and epoll see it readable while an event waits, a signal interrupts. It is an eventfd that
// holds no count, only the news that the queue is not empty: whoever takes the news and leaves
// events behind gives it back.
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

namespace nerve::host {

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

  // The oldest event; waits for one unless the descriptor says not to. `take` sees it before anyone
  // can forget it. False: errno says why.
  template <class Take>
  bool next(Take take) {
    if (inherited()) {
      errno = EBADF;
      return false;
    }
    for (;;) {
      std::uint64_t news{};
      if (::read(fd_, &news, sizeof news) != sizeof news) return false;
      const std::scoped_lock guard{lock_};
      if (events_.empty()) continue;  // another thread took it
      take(std::as_const(events_.front()));
      events_.pop_front();
      if (!events_.empty()) give_news();
      return true;
    }
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
    // A thread in next() may be ahead of us, so this must not wait.
    std::uint64_t news{};
    const iovec into{&news, sizeof news};
    [[maybe_unused]] const auto taken = ::preadv2(fd_, &into, 1, -1, RWF_NOWAIT);
  }

 private:
  void give_news() {
    // Not by write(), which may be a command to whoever the descriptor is of (src/preload).
    (void)::eventfd_write(fd_, 1);
  }

  int fd_;
  const std::uint32_t generation_{generation()};
  mutable std::mutex lock_;
  std::deque<Event> events_;
};

}  // namespace nerve::host
