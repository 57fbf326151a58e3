// The background thread: drives the engines when no thread of the program polls, and never spins
// for long.
//
// It exists because RDMA is one-sided: a peer's WRITE has to be received and acknowledged, and a
// lost packet retransmitted, although the program makes no call. A polling program does that work
// itself, faster than a thread that must be woken. So the thread has two modes, switched with the
// shard's lock held:
//
//   watching  no thread polls. The background thread sleeps until a doorbell, the UDP socket or a
//             deadline wakes it, drives the engines, and sleeps again.
//   polled    a thread of the program polls and drives the engines; no system call is made to wake
//             any thread. Doorbell and socket are ignored, and the background thread checks now and
//             then that the polling continues: soon at first, later once a tick.
//
// A program may poll for a while and then wait in another way, such as spinning on memory that a
// peer writes. The thread notices that at its next check, and the program then has to poll for
// longer before the background thread yields to it again. Polling tick after tick lowers that
// threshold.
//
// A polling thread that waits for a CPU, or yields its CPU between polls, has not stopped to poll:
// it would poll again before the background thread could do anything useful. So in polled mode the
// background thread drives the engines at its checks and takes over only when the thread runs, or
// sleeps, without polling; and polls count for polled mode although others ran in between.
#pragma once

#include <sys/epoll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/time.h"
#include "host/peers/mapping.h"
#include "host/peers/rings.h"
#include "host/runtime/cpus.h"
#include "host/runtime/halt_polling.h"
#include "host/runtime/lock.h"
#include "host/runtime/stranger_limit.h"
#include "host/runtime/thread_state.h"

namespace nerve::host {

// What became of a connection at our name.
enum class TakenCall : std::uint8_t {
  kNone,      // there was none
  kAnswered,  // of a process of our user
  kStranger,  // closed
  kPending,   // there is no descriptor for it
};

// What the thread needs of a shard. Called with the lock held unless a comment says otherwise.
class Watched {
 public:
  virtual ~Watched() = default;
  virtual bool drive(Time at) = 0;  // true when a frame moved
  [[nodiscard]] virtual bool anything_parked() = 0;
  [[nodiscard]] virtual std::optional<Time> next_wake() = 0;
  [[nodiscard]] virtual bool anything_pending() = 0;
  // True if a thread of the program listens to doorbell and socket. Also without the lock.
  [[nodiscard]] virtual bool a_poll_listens() const = 0;
  // As noticed by this thread or by polling threads.
  [[nodiscard]] virtual bool cpus_contended() = 0;
  virtual void falls_asleep() = 0;
  virtual void socket_readable() = 0;
  virtual void aside_readable(int fd) = 0;
  virtual void offer_wanted() = 0;  // now and then: creates rings that are needed
  virtual void connection_closed(int connection) = 0;  // or the answer to an offer arrived
  // Without the lock: accepts a connection at our slot's name.
  virtual TakenCall take_call(int listener) = 0;
  virtual void addresses_changed() = 0;
};

class Watcher {
 public:
  // Processes of our user call at `private_listener`, if there is one; anybody can call at
  // `listener`. At least one is valid.
  Watcher(Watched& watched, Lock& lock, Mailbox mailbox, Descriptor listener,
          Descriptor private_listener);
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  [[nodiscard]] Mailbox& mailbox() { return mailbox_; }
  // False if no descriptor was left for epoll; then the thread must not be started.
  [[nodiscard]] bool usable() const { return static_cast<bool>(epoll_); }

  // The following are called with the lock held.
  //
  // Starts the thread, unless it runs. False if no thread can be created.
  [[nodiscard]] bool start();
  void watch_connection(int fd);  // calls connection_closed() when its other end closes
  void watch_socket(int fd);      // frames wait there when it is readable
  // A socket for management datagrams, which other processes read as well, or for multicast. Both
  // have little traffic, so they are watched in both modes, and polling threads need not ask the
  // kernel.
  void watch_aside(int fd);
  // A thread of the program polled and moved this many frames.
  void polled(std::uint32_t frames = 0);
  // The program has a reason to poll when frames come: resets the threshold to its initial value.
  void reset_poll_threshold();
  // True while the thread sleeps, perhaps past a deadline that has been set since. While it is
  // awake, posts may be batched: it sends them before it sleeps.
  [[nodiscard]] bool asleep() const { return asleep_; }
  // Something has to be done at this time at the latest, so the thread must not sleep longer. It is
  // woken at most once per sleep for this, not at every request: later requests have later
  // deadlines.
  void expect(Time wake);
  // Called in the child of a fork(): the thread, the doorbell and the descriptors belong to the
  // parent.
  void leave() { left_ = true; }
  // True in polled mode: a thread of the program drives the engines.
  [[nodiscard]] bool program_polls() const { return mode_ == Mode::kPolled; }

  // For a polling thread of the program that is about to sleep, with the lock held. False if a
  // doorbell may be missed: then it must sleep only briefly.
  [[nodiscard]] bool begin_listening() { return mailbox_.fall_asleep(); }
  [[nodiscard]] int socket() const { return socket_; }
  // Without the lock: sleeps until a doorbell rings or a packet arrives at the socket, or for this
  // long. Returns true if it was the socket.
  [[nodiscard]] bool listen(int socket, Duration at_most) const;
  // With the lock held again.
  void end_listening();
  // Wakes the thread that listens. Also without the lock.
  void ring() const;

 private:
  enum class Mode : std::uint8_t { kWatching, kPolled };
  using Guard = std::unique_lock<Lock>;

  void run();
  void look_after_polling();
  [[nodiscard]] bool polls_whenever_it_runs(std::uint32_t polls);
  // Apart from polled(), which must be short while the program polls.
  [[gnu::noinline]] void polled_while_watching(std::uint32_t frames);
  void leave_to_program();  // enters polled mode
  [[nodiscard]] bool poller_waits_for_cpu();
  void watch(Guard& guard);
  [[nodiscard]] Duration linger();
  void look_around(Guard& guard);  // handles pending events, without waiting
  // Releases the lock while waiting.
  void wait(Guard& guard, std::optional<Duration> at_most);
  using Events = std::array<epoll_event, 16>;
  [[nodiscard]] std::span<const epoll_event> wait_for_events(Events& events,
                                                             std::optional<Duration> at_most);
  void handle(Guard& guard, int fd);
  void listen_to_frames(bool listen);  // to doorbell and socket
  // A socket at which processes call.
  struct Door {
    Descriptor listener;
    std::optional<Time> paused_until;
  };
  [[nodiscard]] Door* door_of(int fd);
  // Without the lock: accepts connections.
  void accept_calls(Door& door);
  // Suspend accepting them, and resume it when it is time.
  void pause(Door& door, Duration pause);
  void resume_accepting(Time at);
  void kick();

  Watched& watched_;
  Lock& lock_;
  Mailbox mailbox_;
  std::array<Door, 2> doors_;
  Descriptor addresses_;
  Descriptor epoll_;
  Descriptor kicks_;       // wakes this thread in either mode
  bool has_pwait2_{true};  // until the call fails
  int socket_{-1};
  std::vector<int> asides_;
  StrangerLimit strangers_;
  // Written with the lock held. The thread reads them without: if it waited for the lock of a
  // polling program, each unlock would be a system call to wake it.
  std::atomic<Mode> mode_{Mode::kWatching};
  std::atomic<std::uint64_t> polls_{};
  std::uint64_t polls_seen_{};
  std::uint32_t polls_in_a_row_{};
  std::uint32_t poll_threshold_;
  Duration look_after_{};
  std::atomic<bool> stopping_{};
  bool left_{};
  bool asleep_{};
  std::optional<Time> sleeps_until_;  // while asleep; none: no deadline
  HaltPolling halt_polling_{usable_cpus()};
  std::optional<Duration> slept_;  // the last sleep, until frames were found
  // The thread whose polls are counted here, also over sleeps of the background thread: in watching
  // mode the last one that polled, in polled mode the one that entered it.
  pid_t poller_{};
  std::uint32_t poller_polls_{};
  Switches poller_switches_;    // when it began to count
  Duration poller_cpu_time_{};  // at the last check in polled mode
  std::thread thread_;
};

}  // namespace nerve::host
