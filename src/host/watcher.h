// The background thread: it moves frames when no thread of the program's polls, and never spins for
// long.
//
// Two modes, switched behind the host's lock:
//
//   watching  nobody polls. The thread sleeps until the bell, the UDP socket or a deadline wakes
//   it,
//             drives the engines, and sleeps again.
//   polled    a thread of the program's polls and drives the engines itself; nobody makes a system
//             call to wake anybody. Bell and socket are not listened to, and the thread looks now
//             and then whether the polling still goes on: soon at first, later once a tick.
//
// A program that polls for a while and then waits in another way, such as spinning on memory that a
// peer writes, is noticed when the thread next looks, and from then on has to poll longer to be
// believed; one that polls tick after tick regains its credit.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "base/time.h"
#include "host/cpus.h"
#include "host/halt_polling.h"
#include "host/lock.h"
#include "host/mapping.h"
#include "host/rings.h"

namespace nerve::host {

// What the thread needs of the host. Called with the lock held unless it says otherwise.
class Watched {
 public:
  virtual ~Watched() = default;
  virtual bool drive(Time at) = 0;  // true when a frame moved
  [[nodiscard]] virtual bool anything_parked() = 0;
  [[nodiscard]] virtual std::optional<Time> next_wake() = 0;
  [[nodiscard]] virtual bool anything_pending() = 0;
  // Whether a thread of the program's listens to bell and socket. Also without the lock.
  [[nodiscard]] virtual bool a_poll_listens() const = 0;
  // As this thread, or one that polls, has noticed.
  [[nodiscard]] virtual bool cpus_contended() = 0;
  virtual void falls_asleep() = 0;
  virtual void socket_readable() = 0;
  virtual void management_readable() = 0;
  virtual void offer_wanted() = 0;  // now and then: rings to others that turned out to be needed
  virtual void hang_up(int connection) = 0;  // or the answer to an offer came over it
  // Without the lock:
  // Somebody calls at our slot's name. False when the call still waits: there is no descriptor for
  // it.
  virtual bool take_call(int listener) = 0;
  virtual void addresses_changed() = 0;
};

class Watcher {
 public:
  Watcher(Watched& watched, Lock& lock, Mailbox mailbox, Descriptor listener);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  [[nodiscard]] Mailbox& mailbox() { return mailbox_; }
  // False when there was no descriptor left for what it waits with; then it must not be started.
  [[nodiscard]] bool usable() const { return static_cast<bool>(epoll_); }

  // All of these with the lock held.
  // When there is first something to watch. False when there is no thread to be had.
  [[nodiscard]] bool start();
  void watch_connection(int fd);  // hang_up() is told when its other end closes
  void watch_socket(int fd);      // frames wait there when it is readable
  // A socket that others read as well; few are woken for what comes there. Listened to in both
  // modes, so that who polls need not ask the kernel.
  void watch_management(int fd);
  void polled(std::uint32_t frames = 0);  // by a thread of the program's, which moved so many
  // The program has a reason to poll when frames come, whatever it did before.
  void believe_polls();
  // Whether the thread sleeps, perhaps for longer than it may since a program called. While it does
  // not, what is posted may wait for company: it is sent before the thread sleeps.
  [[nodiscard]] bool asleep() const { return asleep_; }
  // There is something to do at this time, if nothing comes before: it must not sleep longer. It is
  // woken for that at most once for each time that it sleeps too long, and not for each request:
  // the deadlines of requests that follow are later.
  void expect(Time wake);
  // This is the child of a fork: the thread, the bell and the descriptors are the parent's.
  void leave() { left_ = true; }
  // Then he drives, and this thread does not.
  [[nodiscard]] bool somebody_polls() const { return mode_ == Mode::kPolled; }

  // For a thread of the program's that polls and is about to sleep, with the lock held. False when
  // a bell may go unheard: then it must not sleep for long.
  [[nodiscard]] bool begin_listening() { return mailbox_.fall_asleep(); }
  [[nodiscard]] int socket() const { return socket_; }
  // Without the lock: sleeps until a bell rings or a packet comes to the socket, or for this long.
  // True when it was the socket.
  [[nodiscard]] bool listen(int socket, Duration at_most) const;
  // With the lock again.
  void end_listening();
  // Wakes the thread that listens; also without the lock.
  void ring() const;

 private:
  enum class Mode : std::uint8_t { kWatching, kPolled };
  using Guard = std::unique_lock<Lock>;

  void run();
  void look_after_polling();
  void watch(Guard& guard);
  [[nodiscard]] Duration linger();
  void look_around(Guard& guard);  // at what has happened, without waiting for it
  // Lets go of the lock meanwhile.
  void wait(Guard& guard, std::optional<Duration> at_most);
  using Events = std::array<epoll_event, 16>;
  [[nodiscard]] std::span<const epoll_event> wait_for_events(Events& events,
                                                             std::optional<Duration> at_most);
  void handle(Guard& guard, int fd);
  void listen_to_frames(bool listen);  // to bell and socket
  // To calls at our name; not for a while after one that could not be taken.
  void listen_again(Time at);
  void rest_from_calls();
  void kick();

  Watched& watched_;
  Lock& lock_;
  Mailbox mailbox_;
  Descriptor listener_;
  Descriptor addresses_;
  Descriptor epoll_;
  Descriptor kicks_;       // wake this thread, in either mode
  bool has_pwait2_{true};  // until it turns out that it does not
  int socket_{-1};
  int management_{-1};
  std::optional<Time> rests_until_;
  // Written with the lock held. The thread looks at them without: it must not stand at the lock of
  // a program that polls, for then each unlock would be a system call to wake it.
  std::atomic<Mode> mode_{Mode::kWatching};
  std::atomic<std::uint64_t> polls_{};
  std::uint64_t polls_seen_{};
  std::uint32_t polls_in_a_row_{};
  std::uint32_t believe_after_;
  Duration look_after_{};
  std::atomic<bool> stopping_{};
  bool left_{};
  bool asleep_{};
  std::optional<Time> sleeps_until_;  // when asleep; none: until somebody calls
  HaltPolling halt_polling_{usable_cpus()};
  std::optional<Duration> slept_;  // just now
  std::thread thread_;
};

}  // namespace nerve::host
