#include "host/watcher.h"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "host/address_watch.h"
#include "host/clock.h"
#include "host/unix_socket.h"
#include "link/system_calls.h"

namespace nerve::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// When the thread first looks after a program that polls, and how often at last.
constexpr Duration kFirstLook = microseconds{50};
constexpr Duration kTick = milliseconds{1};
// How long it stays awake while a ring is full, whose reader empties it but has no reason to tell.
constexpr Duration kLingerForRoom = microseconds{200};
// How long callers wait when there was no descriptor for one of them.
constexpr Duration kRest = milliseconds{100};
// Polls after which a program is believed to go on polling: at first, and at most.
constexpr std::uint32_t kBelieveAfter = 64;
constexpr std::uint32_t kBelieveAtMost = 1U << 20;

void control(const Descriptor& epoll, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll.get(), operation, fd, &event);
}

void add_to(const Descriptor& epoll, int fd, std::uint32_t events) {
  control(epoll, EPOLL_CTL_ADD, fd, events);
}

// A thread of ours takes no signals: they are the program's.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Watcher::Watcher(Watched& watched, Lock& lock, Mailbox mailbox, Descriptor listener)
    : watched_{watched},
      lock_{lock},
      mailbox_{std::move(mailbox)},
      listener_{std::move(listener)},
      addresses_{watch_addresses()},
      epoll_{::epoll_create1(EPOLL_CLOEXEC)},
      kicks_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      believe_after_{kBelieveAfter} {
  add_to(epoll_, kicks_.get(), EPOLLIN);
  add_to(epoll_, mailbox_.event(), EPOLLIN);
  add_to(epoll_, listener_.get(), EPOLLIN);
  if (addresses_) add_to(epoll_, addresses_.get(), EPOLLIN);
}

Watcher::~Watcher() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock guard{lock_};
    stopping_ = true;
    kick();
  }
  thread_.join();
}

bool Watcher::start() {
  if (thread_.joinable()) return true;
  if (!listen_to_calls(listener_.get())) return false;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Watcher::watch_connection(int fd) { add_to(epoll_, fd, EPOLLIN | EPOLLRDHUP); }

void Watcher::watch_socket(int fd) {
  socket_ = fd;
  add_to(epoll_, fd, mode_ == Mode::kWatching ? EPOLLIN : 0U);
}

void Watcher::watch_management(int fd) {
  management_ = fd;
  add_to(epoll_, fd, EPOLLIN | EPOLLEXCLUSIVE);
}

void Watcher::listen_to_frames(bool listen) {
  const std::uint32_t events = listen ? EPOLLIN : 0U;
  control(epoll_, EPOLL_CTL_MOD, mailbox_.event(), events);
  if (socket_ >= 0) control(epoll_, EPOLL_CTL_MOD, socket_, events);
}

void Watcher::rest_from_calls() {
  rests_until_ = now() + kRest;
  control(epoll_, EPOLL_CTL_MOD, listener_.get(), 0);
}

void Watcher::listen_again(Time at) {
  if (!rests_until_ || at < *rests_until_) return;
  rests_until_.reset();
  control(epoll_, EPOLL_CTL_MOD, listener_.get(), EPOLLIN);
}

void Watcher::kick() {
  const std::uint64_t one = 1;
  (void)link::system::write(kicks_.get(), &one, sizeof one);
}

void Watcher::ring() const {
  const std::uint64_t one = 1;
  (void)link::system::write(mailbox_.event(), &one, sizeof one);
}

bool Watcher::listen(int socket, Duration at_most) const {
  const auto ns = std::chrono::ceil<std::chrono::nanoseconds>(at_most).count();
  const timespec limit{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  std::array<pollfd, 2> fds{{{.fd = mailbox_.event(), .events = POLLIN, .revents = 0},
                             {.fd = socket, .events = POLLIN, .revents = 0}}};
  // By its number: the function of that name is a point at which a thread may be cancelled, and
  // ibv_poll_cq is not one.
  ::syscall(SYS_ppoll, fds.data(), fds.size(), &limit, nullptr, 0);
  return fds[1].revents != 0;
}

void Watcher::end_listening() {
  if (mode_ != Mode::kPolled) return;  // the background thread listens now, and has seen to it
  mailbox_.wake_up();
  eventfd_t rings = 0;
  (void)::eventfd_read(mailbox_.event(), &rings);
}

void Watcher::polled(std::uint32_t frames) {
  if (left_) return;
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (mode_ == Mode::kPolled) return;
  // A poll that moves many frames takes as long as many that find nothing.
  polls_in_a_row_ += 1 + frames;
  if (polls_in_a_row_ < believe_after_) return;
  polls_seen_ = polls_;
  look_after_ = kFirstLook;
  mode_ = Mode::kPolled;  // last: the thread reads the others when it sees this
  mailbox_.wake_up();
  listen_to_frames(false);
  kick();           // it may be asleep for good, and is to come once a tick
  asleep_ = false;  // and as good as awake, even if it does not get a processor now
}

void Watcher::believe_polls() { believe_after_ = kBelieveAfter; }

void Watcher::expect(Time wake) {
  if (left_ || !asleep_ || (sleeps_until_ && *sleeps_until_ <= wake)) return;
  sleeps_until_ = wake;
  kick();
}

void Watcher::run() {
  while (!stopping_) {
    if (mode_ == Mode::kPolled) {
      look_after_polling();
    } else {
      Guard guard{lock_};
      watch(guard);
    }
  }
}

void Watcher::look_after_polling() {
  Events events;
  const auto news = wait_for_events(events, look_after_);
  if (rests_until_) listen_again(now());
  // In passing, if the lock is free: nobody is to wait for us. Whoever has it may be at a poll that
  // takes long, for it has much to send.
  Guard guard{lock_, std::try_to_lock};
  const std::uint64_t polls = polls_;
  const bool polling = polls != polls_seen_ || watched_.a_poll_listens() || !guard;
  if (news.empty() && polling) {
    polls_seen_ = polls;
    if (look_after_ >= kTick) believe_after_ = std::max(believe_after_ / 2, kBelieveAfter);
    look_after_ = std::min(look_after_ * 2, kTick);
    if (guard) watched_.offer_wanted();
    return;
  }
  if (!guard) guard.lock();
  for (const epoll_event& event : news) handle(guard, event.data.fd);
  if (polls_ != polls_seen_ || watched_.a_poll_listens() || mode_ != Mode::kPolled) return;
  mode_ = Mode::kWatching;
  polls_in_a_row_ = 0;
  listen_to_frames(true);
  // Frames that waited for nobody to come: the program polls, but not all the time.
  if (watched_.drive(now())) believe_after_ = std::min(believe_after_ * 4, kBelieveAtMost);
}

Duration Watcher::linger() {
  if (watched_.anything_parked()) return kLingerForRoom;
  return halt_polling_.spin(watched_.cpus_contended());
}

void Watcher::watch(Guard& guard) {
  Time at = now();
  Time until = at;
  Time look_at = at + kTick;
  bool spins = false;  // for more, after some were found
  listen_again(at);
  while (at <= until && mode_ == Mode::kWatching && !stopping_) {
    if (at >= look_at) {
      look_around(guard);
      look_at = at + kTick;
    }
    if (watched_.drive(at)) {
      if (slept_) halt_polling_.slept(*std::exchange(slept_, std::nullopt));
      if (std::exchange(spins, true)) halt_polling_.found();
      until = at + linger();
    }
    watched_.offer_wanted();
    guard.unlock();  // whoever waits for the lock comes first
    pause_briefly();
    guard.lock();
    at = now();
  }
  if (mode_ != Mode::kWatching || stopping_) return;

  if (spins) halt_polling_.gave_up();
  watched_.falls_asleep();
  const bool hears = mailbox_.fall_asleep();
  if (!watched_.anything_pending()) {
    sleeps_until_ = watched_.next_wake();
    const auto at_the_latest = [&](Time wake) {
      if (!sleeps_until_ || wake < *sleeps_until_) sleeps_until_ = wake;
    };
    if (rests_until_) at_the_latest(*rests_until_);
    if (!hears) at_the_latest(now() + kTick);
    asleep_ = true;
    polls_in_a_row_ = 0;
    wait(guard, sleeps_until_ ? std::optional{std::max(*sleeps_until_ - now(), Duration{0})}
                              : std::nullopt);
    slept_ = now() - at;
  } else {
    look_around(guard);
  }
  mailbox_.wake_up();
}

void Watcher::look_around(Guard& guard) {
  Events events;
  for (const epoll_event& event : wait_for_events(events, Duration{0})) {
    handle(guard, event.data.fd);
  }
}

void Watcher::wait(Guard& guard, std::optional<Duration> at_most) {
  Events events;
  guard.unlock();
  const auto news = wait_for_events(events, at_most);
  guard.lock();
  asleep_ = false;
  for (const epoll_event& event : news) handle(guard, event.data.fd);
}

std::span<const epoll_event> Watcher::wait_for_events(Events& events,
                                                      std::optional<Duration> at_most) {
  timespec limit{};
  if (at_most) {
    const auto ns = std::chrono::ceil<std::chrono::nanoseconds>(*at_most).count();
    limit = {.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  }
  const timespec* const timeout = at_most ? &limit : nullptr;
  const int room = static_cast<int>(events.size());
  int count = -1;
  if (has_pwait2_) {
    count = ::epoll_pwait2(epoll_.get(), events.data(), room, timeout, nullptr);
    // Kernels before 5.11 do not know it, some sandboxes forbid it.
    has_pwait2_ = count >= 0 || errno == EINTR;
  }
  if (!has_pwait2_) {
    pollfd any{.fd = epoll_.get(), .events = POLLIN, .revents = 0};
    count = ::ppoll(&any, 1, timeout, nullptr) > 0
                ? ::epoll_wait(epoll_.get(), events.data(), room, 0)
                : 0;
  }
  return std::span{events}.first(static_cast<std::size_t>(std::max(count, 0)));
}

void Watcher::handle(Guard& guard, int fd) {
  if (fd == mailbox_.event() || fd == kicks_.get()) {
    eventfd_t rings = 0;
    (void)::eventfd_read(fd, &rings);
  } else if (fd == listener_.get()) {
    guard.unlock();
    const bool taken = watched_.take_call(fd);
    guard.lock();
    if (!taken) rest_from_calls();
  } else if (fd == addresses_.get()) {
    take_news(fd);
    guard.unlock();
    watched_.addresses_changed();
    guard.lock();
  } else if (fd == socket_) {
    watched_.socket_readable();
  } else if (fd == management_) {
    watched_.management_readable();
  } else {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    watched_.hang_up(fd);
  }
}

}  // namespace nerve::host
