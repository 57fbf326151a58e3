#include "host/runtime/watcher.h"

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

#include "host/devices/address_watch.h"
#include "host/peers/unix_socket.h"
#include "host/runtime/clock.h"
#include "host/runtime/short_slice.h"
#include "link/system_calls.h"

namespace nerve::host {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// The delay before the thread first checks that a polling program still polls, and the longest
// delay.
constexpr Duration kFirstLook = microseconds{50};
constexpr Duration kTick = milliseconds{1};
// How long it stays awake while a ring is full: the reader rings no doorbell when it makes room.
constexpr Duration kLingerForRoom = microseconds{200};
// How long it ignores connections after one could not be accepted for lack of a descriptor.
constexpr Duration kAcceptPause = milliseconds{100};
// Polls in a row after which the program is expected to keep polling: the initial and the largest
// threshold.
constexpr std::uint32_t kPollThreshold = 64;
constexpr std::uint32_t kMaxPollThreshold = 1U << 20;
// A thread that sleeps more often than this does not poll all the time.
constexpr long kPollsPerSleep = 16;
// A thread that has run for longer than this without polling does something else.
constexpr Duration kTurn = microseconds{20};

void control(const Descriptor& epoll, int operation, int fd, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  ::epoll_ctl(epoll.get(), operation, fd, &event);
}

void add_to(const Descriptor& epoll, int fd, std::uint32_t events) {
  control(epoll, EPOLL_CTL_ADD, fd, events);
}

// Blocks signals in a thread of ours: they are for the program.
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

Watcher::Watcher(Watched& watched, Lock& lock, Mailbox mailbox, Descriptor listener,
                 Descriptor private_listener)
    : watched_{watched},
      lock_{lock},
      mailbox_{std::move(mailbox)},
      doors_{Door{std::move(listener), {}}, Door{std::move(private_listener), {}}},
      addresses_{watch_addresses()},
      epoll_{::epoll_create1(EPOLL_CLOEXEC)},
      kicks_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
      strangers_{doors_[1].listener ? StrangerLimit::kLongRest : StrangerLimit::kRest},
      poll_threshold_{kPollThreshold} {
  add_to(epoll_, kicks_.get(), EPOLLIN);
  add_to(epoll_, mailbox_.event(), EPOLLIN);
  for (const Door& door : doors_) {
    if (door.listener) add_to(epoll_, door.listener.get(), EPOLLIN);
  }
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
  for (const Door& door : doors_) {
    if (door.listener && !listen_to_calls(door.listener.get())) return false;
  }
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

void Watcher::watch_aside(int fd) {
  asides_.push_back(fd);
  add_to(epoll_, fd, EPOLLIN | EPOLLEXCLUSIVE);
}

void Watcher::listen_to_frames(bool listen) {
  const std::uint32_t events = listen ? EPOLLIN : 0U;
  control(epoll_, EPOLL_CTL_MOD, mailbox_.event(), events);
  if (socket_ >= 0) control(epoll_, EPOLL_CTL_MOD, socket_, events);
}

Watcher::Door* Watcher::door_of(int fd) {
  const auto door =
      std::ranges::find_if(doors_, [fd](const Door& one) { return one.listener.get() == fd; });
  return door != doors_.end() ? &*door : nullptr;
}

void Watcher::accept_calls(Door& door) {
  for (;;) {
    switch (watched_.take_call(door.listener.get())) {
      case TakenCall::kNone:
      case TakenCall::kAnswered:  // more may wait; epoll reports them
        return;
      case TakenCall::kStranger:
        if (const auto rest = strangers_.called(now())) return pause(door, *rest);
        break;
      case TakenCall::kPending:
        return pause(door, kAcceptPause);
    }
  }
}

void Watcher::pause(Door& door, Duration pause) {
  door.paused_until = now() + pause;
  control(epoll_, EPOLL_CTL_MOD, door.listener.get(), 0);
}

void Watcher::resume_accepting(Time at) {
  for (Door& door : doors_) {
    if (!door.paused_until || at < *door.paused_until) continue;
    door.paused_until.reset();
    control(epoll_, EPOLL_CTL_MOD, door.listener.get(), EPOLLIN);
  }
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
  // A direct system call: glibc's ppoll() is a cancellation point, and ibv_poll_cq() must not be
  // one.
  ::syscall(SYS_ppoll, fds.data(), fds.size(), &limit, nullptr, 0);
  return fds[1].revents != 0;
}

void Watcher::end_listening() {
  if (mode_ != Mode::kPolled) return;  // the background thread listens now, and has done this
  mailbox_.wake_up();
  eventfd_t rings = 0;
  (void)::eventfd_read(mailbox_.event(), &rings);
}

void Watcher::polled(std::uint32_t frames) {
  if (left_) return;
  polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  if (mode_ != Mode::kPolled) polled_while_watching(frames);
}

void Watcher::polled_while_watching(std::uint32_t frames) {
  // A poll that moves many frames takes as long as many empty polls.
  polls_in_a_row_ += 1 + frames;
  if (polls_in_a_row_ >= poll_threshold_ || polls_whenever_it_runs(1 + frames)) leave_to_program();
}

void Watcher::leave_to_program() {
  poller_ = this_thread();
  poller_cpu_time_ = cpu_time_of(poller_);
  polls_seen_ = polls_;
  look_after_ = kFirstLook;
  mode_ = Mode::kPolled;  // last: the thread reads the others when it sees this
  mailbox_.wake_up();
  listen_to_frames(false);
  kick();           // it may be asleep without a deadline, and has to check every tick from now on
  asleep_ = false;  // it will run soon, even if it does not get a CPU right now
}

// True if the calling thread has polled often, and left its CPU only because others wanted it. A
// thread that is woken, polls a few times and sleeps again is better served by doorbells; but a
// thread may sleep now and then, for a lock for example.
bool Watcher::polls_whenever_it_runs(std::uint32_t polls) {
  poller_polls_ += polls;
  if (poller_polls_ < poll_threshold_) return false;
  const auto counted = static_cast<long>(std::exchange(poller_polls_, 0));
  const Switches now_at = switches_of_this_thread();
  const Switches before = std::exchange(poller_switches_, now_at);
  const pid_t thread = this_thread();
  if (std::exchange(poller_, thread) != thread) return false;
  return now_at.runnable > before.runnable &&
         now_at.asleep - before.asleep <= counted / kPollsPerSleep;
}

void Watcher::reset_poll_threshold() { poll_threshold_ = kPollThreshold; }

void Watcher::expect(Time wake) {
  if (left_ || !asleep_ || (sleeps_until_ && *sleeps_until_ <= wake)) return;
  sleeps_until_ = wake;
  kick();
}

void Watcher::run() {
  ask_for_short_slice();
  while (!stopping_) {
    if (mode_ == Mode::kPolled) {
      look_after_polling();
    } else {
      Guard guard{lock_};
      watch(guard);
    }
  }
}

// In polled mode: wakes once a tick, without taking the lock if that is taken, and checks that the
// program has polled since the last tick. A counter shows that, so that polling threads pay one
// increment and no system call. If they have stopped, takes over: from then on doorbells and the
// socket wake this thread again.
void Watcher::look_after_polling() {
  Events events;
  auto news = wait_for_events(events, look_after_);
  resume_accepting(now());
  // Calls need no lock, and must not make a polling thread wait: any process can call.
  std::size_t others = 0;
  for (std::size_t i = 0; i < news.size(); ++i) {
    if (Door* const door = door_of(events[i].data.fd)) {
      accept_calls(*door);
    } else {
      events[others++] = events[i];
    }
  }
  if (others == 0 && !news.empty()) return;  // too soon to tell whether the program still polls
  news = std::span{events}.first(others);
  // Only if the lock is free: a polling thread must not wait for this one. A taken lock counts as
  // polling, because a poll that sends much may hold it for long.
  Guard guard{lock_, std::try_to_lock};
  const std::uint64_t polls = polls_;
  const bool polling = polls != polls_seen_ || watched_.a_poll_listens() || !guard;
  if (news.empty() && polling) {
    polls_seen_ = polls;
    poller_cpu_time_ = cpu_time_of(poller_);
    if (look_after_ >= kTick) poll_threshold_ = std::max(poll_threshold_ / 2, kPollThreshold);
    look_after_ = std::min(look_after_ * 2, kTick);
    if (guard) watched_.offer_wanted();
    return;
  }
  if (!guard) guard.lock();
  for (const epoll_event& event : news) handle(guard, event.data.fd);
  if (polls_ != polls_seen_ || watched_.a_poll_listens() || mode_ != Mode::kPolled) return;
  if (poller_waits_for_cpu()) {
    look_after_ = std::min(look_after_ * 2, kTick);
    (void)watched_.drive(now());
    return;
  }
  mode_ = Mode::kWatching;
  polls_in_a_row_ = 0;
  listen_to_frames(true);
  // Frames were waiting: the program polls, but not all the time, so raise the threshold for it.
  if (watched_.drive(now())) poll_threshold_ = std::min(poll_threshold_ * 4, kMaxPollThreshold);
}

// True if the thread that entered polled mode is runnable, but has hardly run since the last check.
bool Watcher::poller_waits_for_cpu() {
  const Duration before = std::exchange(poller_cpu_time_, cpu_time_of(poller_));
  return poller_cpu_time_ - before < kTurn && is_runnable(poller_);
}

Duration Watcher::linger() {
  if (watched_.anything_parked()) return kLingerForRoom;
  return halt_polling_.spin(watched_.cpus_contended());
}

// In watching mode: drives the engines until nothing has moved for linger(), then sleeps. The order
// before sleeping matters: announce the sleep in the mailbox, then check the rings a last time. A
// writer publishes its frame first and then reads that announcement, so either we see the frame or
// the writer sees that we sleep and rings the doorbell.
void Watcher::watch(Guard& guard) {
  Time at = now();
  Time until = at;
  Time look_at = at + kTick;
  bool spins = false;  // for more frames, after some were found
  resume_accepting(at);
  while (at <= until && mode_ == Mode::kWatching && !stopping_) {
    if (at >= look_at) {
      resume_accepting(at);
      look_around(guard);
      look_at = at + kTick;
    }
    if (watched_.drive(at)) {
      if (slept_) halt_polling_.slept(*std::exchange(slept_, std::nullopt));
      if (std::exchange(spins, true)) halt_polling_.found();
      until = at + linger();
    }
    watched_.offer_wanted();
    guard.unlock();  // threads that wait for the lock go first
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
    for (const Door& door : doors_) {
      if (door.paused_until) at_the_latest(*door.paused_until);
    }
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
    // Kernels before 5.11 do not have it, and some sandboxes forbid it.
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
  } else if (Door* const door = door_of(fd)) {
    guard.unlock();
    accept_calls(*door);
    guard.lock();
  } else if (fd == addresses_.get()) {
    drain_notifications(fd);
    guard.unlock();
    watched_.addresses_changed();
    guard.lock();
  } else if (fd == socket_) {
    watched_.socket_readable();
  } else if (std::ranges::find(asides_, fd) != asides_.end()) {
    watched_.aside_readable(fd);
  } else {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    watched_.connection_closed(fd);
  }
}

}  // namespace nerve::host
