#include "host/runtime/polling.h"

#include <algorithm>

#include "host/shard.h"

namespace nerve::host {
namespace {

constexpr std::uint32_t kPollsPerLook = 16;
// A program that always finds completions still moves frames every this many polls.
constexpr std::uint32_t kFruitfulPolls = 8;

// How long a thread polls in vain before it sleeps, if CPUs are contended. Short, because a peer
// that was woken on this thread's CPU runs only when this thread sleeps. If the program's own
// threads compete for CPUs, sched_yield() is tried first for longer: it costs less than to sleep
// and be woken.
constexpr Duration kSpinBeforeSleep = std::chrono::microseconds{20};
constexpr Duration kSpinInCrowd = std::chrono::microseconds{50};

// The longest sleep inside a poll: the program may have other things to do. Shorter if a doorbell
// may be missed.
constexpr Duration kLongestSleep = std::chrono::microseconds{100};
constexpr Duration kShortSleep = std::chrono::microseconds{20};

// This many received frames are answered at once, without waiting for the program's next post.
constexpr std::size_t kAnswerAfter = 32;

}  // namespace

bool Polling::idle() {
  const bool look = (polls_ + 1) % kPollsPerLook == 0;
  if (look || contended_.load(std::memory_order_relaxed) || waiters.any() ||
      !shard_.watcher.program_polls() || shard_.anything_unsent() ||
      shard_.exchange.worth_receiving()) {
    return false;
  }
  ++polls_;
  for (Adapter::State* adapter : shard_.adapters) adapter->waiting_posts = 0;
  shard_.watcher.polled();
  return true;
}

bool Polling::poll() {
  if (shard_.left_to_parent) return false;
  for (Adapter::State* adapter : shard_.adapters) adapter->waiting_posts = 0;
  // Deadlines are checked only now and then: reading the clock takes longer than checking the
  // rings.
  const bool look = ++polls_ % kPollsPerLook == 0;
  if (!look && !shard_.anything_unsent() && !shard_.exchange.worth_receiving()) {
    shard_.watcher.polled();
    return false;
  }
  const Time at = shard_.look_at_clock();
  if (look) look_at_machine(at);
  const std::uint64_t sent = shard_.exchange.frames_sent();
  // The program may post in response to the frames that have just arrived; then the acknowledgement
  // leaves with that post. If it does not post, it polls again, finds nothing new, and the
  // acknowledgement leaves then.
  const std::size_t arrived = shard_.take_in(at);
  // After receiving: a thread that was preempted finds the ACKs that arrived meanwhile before it
  // checks timers.
  if (look) shard_.expire(at);
  if (arrived == 0 || shard_.unanswered() >= kAnswerAfter || !shard_.watcher.program_polls()) {
    shard_.transmit(at);
  }
  shard_.watcher.polled(static_cast<std::uint32_t>(arrived + shard_.exchange.frames_sent() - sent));
  for (Adapter::State* adapter : shard_.adapters) adapter->deliver_events();
  return look && crowd_.crowded();
}

void Polling::poll_after_success() {
  found_something();
  if (++fruitful_polls_ % kFruitfulPolls == 0) {
    (void)poll();
  } else {
    shard_.watcher.polled();
  }
}

void Polling::look_at_machine(Time at) {
  crowd_.saw_poller(at);
  if (shard_.config.polling == PollWait::kAuto) {
    contention_.saw_preemptions(new_preemptions(at), at);
    contended_ = crowd_.crowded() || contention_.present(at);
  } else {
    contended_ = shard_.config.polling == PollWait::kSleep;
  }
  shard_.peer_memory.set_cpus_contended(contended_);
}

bool Polling::look_for_contention(Time at) {
  if (shard_.config.polling == PollWait::kAuto) {
    contention_.saw_preemptions(new_preemptions(at), at);
  }
  return contention_.present(at);
}

bool Polling::found_nothing(nic::Nic& nic, nic::CqHandle cq) {
  if (!contended_ || shard_.left_to_parent) return false;
  EmptyPolls& polls = EmptyPolls::of_this_thread();
  const Time at = now();
  polls.note(nic, cq, shard_.leader->lock, at);
  const bool crowded = crowd_.crowded();
  // A thread that polls on behalf of others would spin on a CPU that they need to post.
  const bool at_once = polls.only_polls() && (crowded || polls.woken_by_post());
  const Duration spin = at_once ? Duration{} : crowded ? kSpinInCrowd : kSpinBeforeSleep;
  if (polls.spun() < spin) return false;
  sleep(polls);
  return true;
}

void Polling::sleep(EmptyPolls& polls) {
  Lock& lock = shard_.lock;
  if (polls.in_several_shards()) {
    PollWaiters::Waiter self{.polls = polls};
    self.awake = 0;
    lock.unlock();
    sleep_until_woken(self, kShortSleep);
    lock.lock();
    return polls.reset();
  }
  polls.note_sleep();
  PollWaiters::Waiter self{.polls = polls};
  waiters.add(self);
  shard_.peer_memory.set_poller_sleeps(waiters.any_that_only_polls());
  Time at = now();
  for (const Time until = at + kLongestSleep; at < until && !polls.anything_completed();
       at = now()) {
    self.listens = shard_.watcher.program_polls() && !waiters.listens();
    if (self.listens) {
      listen_for_frames(self, until - at);
    } else {
      self.awake = 0;
      lock.unlock();
      sleep_until_woken(self, until - at);
      lock.lock();
      self.awake = 1;
    }
    shard_.watcher.polled();
  }
  waiters.remove(self);
  shard_.peer_memory.set_poller_sleeps(waiters.any_that_only_polls());
  if (self.woken_by_post) polls.set_woken_by_post(*self.woken_by_post);
  polls.reset();
}

void Polling::listen_for_frames(PollWaiters::Waiter& self, Duration at_most) {
  Watcher& watcher = shard_.watcher;
  Lock& lock = shard_.lock;
  const bool hears = watcher.begin_listening();
  if (!shard_.anything_pending()) {
    if (!hears) at_most = std::min(at_most, kShortSleep);
    const std::optional<Time> wake_at = shard_.next_wake();
    if (wake_at) at_most = std::clamp(*wake_at - now(), Duration{}, at_most);
    const int socket = watcher.socket();
    waiters.set_listens(true);
    self.awake = 0;
    lock.unlock();
    const bool packets = watcher.listen(socket, at_most);
    lock.lock();
    self.awake = 1;
    waiters.set_listens(false);
    if (packets) shard_.exchange.udp_arrived();
  }
  watcher.end_listening();
  const Time at = shard_.look_at_clock();
  const std::size_t arrived = shard_.take_in(at);
  shard_.expire(at);
  // As in poll(): the answer to frames that have just arrived may leave with the program's next
  // post.
  if (arrived == 0 || !self.polls.anything_completed()) shard_.transmit(at);
  shard_.wake(waiters.take_ready());
}

}  // namespace nerve::host
