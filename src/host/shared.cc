#include "host/shared.h"

#include <time.h>

#include <algorithm>
#include <new>

#include "host/log.h"
#include "host/unix_socket.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

// Frames taken in before the engines may answer: enough to be worth it, few enough that an answer
// does not wait long.
constexpr std::size_t kBudget = 256;

// When QPs wait for room in a ring, somebody looks at least this often.
constexpr Duration kLookForRoom = std::chrono::milliseconds{1};

constexpr std::uint32_t kPollsPerLook = 16;

// How long a thread sleeps inside a poll at most: its program may have other things to do. Less
// where a doorbell may be missed.
constexpr Duration kLongestWait = std::chrono::microseconds{100};
constexpr Duration kShortWait = std::chrono::microseconds{20};

// So many frames are answered at once, whatever the program is about to do.
constexpr std::size_t kAnswerAfter = 32;

std::vector<wire::Gid> addresses_of(const std::vector<Interface>& interfaces) {
  std::vector<wire::Gid> gids;
  for (const Interface& interface : interfaces) {
    gids.insert(gids.end(), interface.addresses.begin(), interface.addresses.end());
  }
  return gids;
}

}  // namespace

Host::Shared::Shared(Config settings, Membership joined, Mailbox mailbox, Shared* first)
    : config{std::move(settings)},
      slot{joined.slot},
      primary{first != nullptr ? first : this},
      exchange{config.transport, joined.slot},
      watcher{*this, lock, std::move(mailbox), std::move(joined.listener)},
      neighbours{exchange, watcher.mailbox().rights(),
                 first != nullptr ? &first->neighbours : nullptr} {
  if (first == nullptr) shards.push_back(this);
  set_log_level(config.log);
  exchange.set_local(addresses_of(list_interfaces()));
  exchange.set_own(OwnRing::make(ring_size(config.ring_size)));
  std::vector<std::string> problems;
  taps.emplace(config, exchange, *this, origins(), problems);
  for (const std::string& problem : problems) log(LogLevel::kError, "%s", problem.c_str());
}

bool Host::Shared::is_for_us(const wire::Frame& frame) const {
  const Qpn qpn = frame.headers.bth.dest_qp;
  if (qpn == kManagementQpn) return !exchange.reads_network() || exchange.slot_for(frame) == slot;
  return slot_of(qpn) == slot || qpn.value() == 0 || qpn.value() == Qpn::kMask;
}

link::PcapSink::Origins Host::Shared::origins() const {
  // In a ring a frame bears the port that its QP wants; the one from which it left, and that
  // nobody else can have, is known only where all go by UDP.
  const auto is_own = [this](const wire::Frame& frame) {
    return config.transport == Transport::kUdp && udp &&
           udp->sender().sends_from(frame.flow.source_port);
  };
  return {.is_local = [this](const wire::Gid& gid) { return exchange.is_local(gid); },
          .is_own = is_own,
          .passes = [this](const wire::Frame& frame) { return !is_for_us(frame); }};
}

void Host::Shared::deliver(std::span<const wire::Frame> frames, Time at) {
  const auto belong = [&](const wire::Frame& a, const wire::Frame& b) {
    return a.flow.destination == b.flow.destination && is_for_us(a) == is_for_us(b);
  };
  while (!frames.empty()) {
    std::size_t run = 1;
    while (run < frames.size() && belong(frames[0], frames[run])) ++run;
    const auto some = frames.first(run);
    frames = frames.subspan(run);
    if (!is_for_us(some[0])) {
      exchange.forward(some, at);
      continue;
    }
    const wire::Gid& to = some[0].flow.destination;
    for (Adapter::State* adapter : adapters) {
      if (adapters.size() == 1 || to.is_multicast() || adapter->owns(to)) {
        adapter->nic.receive(some, at);
      }
    }
  }
}

std::size_t Host::Shared::take_in(Time at) {
  const std::size_t arrived = exchange.receive(taps->own_sink(), taps->sink(), kBudget, at);
  unanswered += arrived;
  return arrived;
}

void Host::Shared::expire(Time at) {
  for (Adapter::State* adapter : adapters) {
    const std::optional<Time> deadline = adapter->nic.next_deadline();
    if (deadline && *deadline <= at) adapter->nic.expire(at);
  }
  taps->expire(at);
}

bool Host::Shared::drive(Time at) {
  looked_at = at;
  const std::size_t arrived = take_in(at);
  expire(at);
  const std::uint64_t sent = exchange.counters().frames();
  if (arrived > 0 && owes_only_an_ack()) delayed_ack.took_in(at);
  if (!ack_waits(at)) transmit(at);
  if (poll_waiters.any()) wake(poll_waiters.take_ready());
  return arrived > 0 || exchange.counters().frames() != sent;
}

bool Host::Shared::anything_unsent() {
  return !ack_waits(looked_at) && std::ranges::any_of(adapters, [](const auto* a) {
    return a->nic.wants_to_send() && a->nic.port_active();
  });
}

bool Host::Shared::owes_only_an_ack() const {
  return adapters.size() == 1 && adapters[0]->nic.owes_only_an_ack();
}

bool Host::Shared::ack_waits(Time at) const {
  return delayed_ack.until() && at < *delayed_ack.until() && owes_only_an_ack();
}

bool Host::Shared::anything_parked() {
  return std::ranges::any_of(adapters, [](const auto* a) { return a->nic.any_parked(); });
}

bool Host::Shared::poll() {
  if (left_to_parent) return false;
  for (Adapter::State* adapter : adapters) adapter->waiting_posts = 0;
  // Deadlines are looked at now and then: the clock takes longer to read than the rings.
  const bool look = ++idle_polls % kPollsPerLook == 0;
  if (!look && !anything_unsent() && !exchange.worth_receiving()) {
    watcher.polled();
    return false;
  }
  const Time at = now();
  looked_at = at;
  if (look) look_at_machine(at);
  const std::uint64_t sent = exchange.counters().frames();
  // What has just arrived may make the program post. If so, that goes first and the
  // acknowledgement with it; if not, it will poll again and find nothing new.
  const std::size_t arrived = take_in(at);
  // After the frames: a thread that had lost its CPU finds the ACKs that came meanwhile.
  if (look) expire(at);
  if (arrived == 0 || unanswered >= kAnswerAfter || !watcher.somebody_polls()) transmit(at);
  watcher.polled(static_cast<std::uint32_t>(arrived + exchange.counters().frames() - sent));
  for (Adapter::State* adapter : adapters) adapter->tell_events();
  return look && crowd.crowded();
}

void Host::Shared::look_at_machine(Time at) {
  crowd.saw_poller(at);
  if (config.polling == Polling::kAuto) {
    contention.saw_preemptions(new_preemptions(at), at);
    busy = crowd.crowded() || contention.present(at);
  } else {
    busy = config.polling == Polling::kSleep;
  }
  neighbours.set_cpus_contended(busy);
}

bool Host::Shared::cpus_contended() {
  if (config.polling == Polling::kAuto) {
    contention.saw_preemptions(new_preemptions(looked_at), looked_at);
  }
  return contention.present(looked_at);
}

void Host::Shared::wait_in_poll(EmptyPolls& polls) {
  if (polls.in_several_shards()) {
    PollWaiters::Waiter self{.polls = polls};
    self.awake = 0;
    lock.unlock();
    sleep_until_woken(self, kShortWait);
    lock.lock();
    return polls.reset();
  }
  polls.note_sleep();
  PollWaiters::Waiter self{.polls = polls};
  poll_waiters.add(self);
  neighbours.set_poller_sleeps(poll_waiters.any_that_only_polls());
  Time at = now();
  for (const Time until = at + kLongestWait; at < until && !polls.anything_completed();
       at = now()) {
    self.listens = watcher.somebody_polls() && !poll_waiters.listens();
    if (self.listens) {
      listen_for_frames(self, until - at);
    } else {
      self.awake = 0;
      lock.unlock();
      sleep_until_woken(self, until - at);
      lock.lock();
      self.awake = 1;
    }
    watcher.polled();
  }
  poll_waiters.remove(self);
  neighbours.set_poller_sleeps(poll_waiters.any_that_only_polls());
  if (self.woken_by_post) polls.set_woken_by_post(*self.woken_by_post);
  polls.reset();
}

void Host::Shared::listen_for_frames(PollWaiters::Waiter& self, Duration at_most) {
  const bool hears = watcher.begin_listening();
  if (!anything_pending()) {
    if (!hears) at_most = std::min(at_most, kShortWait);
    const std::optional<Time> wake_at = next_wake();
    if (wake_at) at_most = std::clamp(*wake_at - now(), Duration{}, at_most);
    const int socket = watcher.socket();
    poll_waiters.set_listens(true);
    self.awake = 0;
    lock.unlock();
    const bool packets = watcher.listen(socket, at_most);
    lock.lock();
    self.awake = 1;
    poll_waiters.set_listens(false);
    if (packets) exchange.udp_arrived();
  }
  watcher.end_listening();
  const Time at = looked_at = now();
  const std::size_t arrived = take_in(at);
  expire(at);
  // As in poll(): what the program posts next may go with the answer to what has just arrived.
  if (arrived == 0 || !self.polls.anything_completed()) transmit(at);
  wake(poll_waiters.take_ready());
}

void Host::Shared::wake(const PollWaiters::Woken& woken) const {
  wake_sleepers(woken);
  if (woken.listener) watcher.ring();
}

void Host::Shared::transmit(Time at) {
  unanswered = 0;
  if (exchange.room_again(at)) {
    for (Adapter::State* adapter : adapters) adapter->nic.resume();
  }
  for (Adapter::State* adapter : adapters) {
    adapter->transmit(at);
    adapter->tell_events();
  }
}

std::optional<Time> Host::Shared::next_wake() {
  std::optional<Time> earliest = taps->next_deadline();
  const auto consider = [&](std::optional<Time> t) {
    if (t && (!earliest || *t < *earliest)) earliest = t;
  };
  for (Adapter::State* adapter : adapters) {
    consider(adapter->nic.next_deadline());
    if (adapter->nic.any_parked()) consider(now() + kLookForRoom);
  }
  consider(exchange.next_room());
  consider(delayed_ack.until());
  // No doorbell rings for what a thread of ours has left to be read, or to be sent.
  if (exchange.wants_ring() || exchange.own_pending() || anything_unsent()) consider(now());
  return earliest;
}

bool try_long(Lock& lock) {
  constexpr int kTries = 100;
  for (int tries = 0; tries < kTries; ++tries) {
    if (lock.try_lock()) return true;
    const timespec moment{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
  return false;
}

void Host::Shared::finish() {
  if (!try_long()) return;
  // Whoever sent us what we have been waiting for is to hear that it came.
  if (anything_unsent()) transmit(now());
  // And whoever has a connection with us hears that it is over, as from a kernel that cleans up.
  for (Adapter::State* adapter : adapters) adapter->nic.cm().farewell();
  if (anything_unsent()) transmit(now());
  if (!wait_for_partings()) return;
  taps->finish();
  lock.unlock();
}

bool Host::Shared::wait_for_partings() {
  // Time for a DREQ and two more. Few see it pass: an answer comes within the way there and back.
  constexpr Duration kLongest{std::chrono::milliseconds{350}};
  constexpr timespec kMoment{.tv_sec = 0, .tv_nsec = 500'000};
  std::vector<wire::Gid> here;
  for (const Adapter::State* adapter : adapters) {
    here.insert(here.end(), adapter->gids.begin(), adapter->gids.end());
  }
  const Time limit = now() + kLongest;
  while (now() < limit && std::ranges::any_of(adapters, [&](Adapter::State* adapter) {
           return adapter->nic.cm().parting_from_others_than(here);
         })) {
    lock.unlock();
    ::nanosleep(&kMoment, nullptr);
    if (!try_long()) return false;
    drive(now());
  }
  return true;
}

void Host::Shared::leave_to_parent() {
  left_to_parent = true;
  exchange.leave();
  poll_waiters.leave();
  neighbours.leave();
  if (ports) ports->leave();
  watcher.leave();
  new (&making) std::mutex;
  new (&lock) Lock;
  new (&objects) Lock;
}

void Host::Shared::hang_up(int connection) {
  if (conclude_offer(connection)) return;
  const std::optional<pid_t> owner = own_peer(connection);
  exchange.drain(connection, taps->sink(), now());
  const auto silent = exchange.hang_up(connection);
  // Whether its process is dead shows when it is called. Nothing else tells those that have
  // connections with it.
  if (silent && ports) offer_ring(*silent, owner);
  transmit(now());
}

void Host::Shared::nobody_in(std::uint32_t empty) {
  // Each direction has its connection, and the one that tells of the death may not be the one over
  // which the last words came.
  exchange.drain_slot(empty, taps->sink(), now());
  exchange.nobody_in(empty, *this, now());
  const wire::CommId one_of_its{empty << nic::kCommIdBits};
  for (Adapter::State* adapter : adapters) {
    adapter->nic.cm().lose_peer(one_of_its, exchange.local(), now());
  }
  transmit(now());
}

void Host::Shared::management_readable() {
  const Time at = now();
  const std::size_t arrived =
      exchange.receive_management(*udp->management(), taps->sink(), kBudget, at);
  if (arrived > 0) transmit(at);
}

void Host::Shared::addresses_changed() {
  const std::vector<Interface> interfaces = list_interfaces();
  {
    const std::scoped_lock guard{lock};
    exchange.set_local(addresses_of(interfaces));
    tell_interfaces(interfaces);
    for (Adapter::State* adapter : adapters) {
      const auto same = std::ranges::find(interfaces, adapter->device.interface, &Interface::name);
      adapter->update(same != interfaces.end() ? &*same : nullptr);
      adapter->tell_events();
    }
    (void)follow_groups();
  }
  if (DeviceListener* const listener = device_listener) listener->on_devices_changed();
}

}  // namespace nerve::host
