#include "host/shard.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <new>

#include "host/diagnostics/log.h"
#include "host/peers/unix_socket.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

// Limit on frames received before the engines may answer: large enough to batch, small enough that
// answers are not delayed.
constexpr std::size_t kBudget = 256;

// How often full rings are checked while QPs wait for room in them.
constexpr Duration kLookForRoom = std::chrono::milliseconds{1};

std::vector<wire::Gid> addresses_of(const std::vector<Interface>& interfaces) {
  std::vector<wire::Gid> gids;
  for (const Interface& interface : interfaces) {
    gids.insert(gids.end(), interface.addresses.begin(), interface.addresses.end());
  }
  return gids;
}

}  // namespace

std::unique_ptr<Shard> Shard::make(Shard* primary) {
  auto joined = primary != nullptr ? join_host(primary->slot) : join_host();
  Mailbox* const first = primary != nullptr ? &primary->watcher.mailbox() : nullptr;
  auto mailbox = joined ? Mailbox::make(first) : std::nullopt;
  if (!joined || !mailbox) return nullptr;
  std::unique_ptr<Shard> shard{
      new Shard{primary != nullptr ? primary->config : load_process_config(), std::move(*joined),
                std::move(*mailbox), primary}};
  if (shard->watcher.usable()) return shard;
  shard.reset();
  errno = EMFILE;
  return nullptr;
}

Shard::Shard(Config settings, Membership joined, Mailbox mailbox, Shard* first)
    : own_set_{first != nullptr ? nullptr : new ShardSet{*this, settings}},
      slot_lock_{std::move(joined.lock)},
      config{std::move(settings)},
      slot{joined.slot},
      shards{first != nullptr ? first->shards : *own_set_},
      seal_setup{first != nullptr ? first->seal_setup
                                  : SealSetup::make(config.seal, config.seal_suites,
                                                    config.seal_key, config.seal_key_log)},
      seals{seal_setup},
      exchange{config.transport, joined.slot},
      watcher{*this, lock, std::move(mailbox), std::move(joined.listener),
              std::move(joined.private_listener)},
      peer_memory{exchange, watcher.mailbox().rights(), *shards.gpu_memory,
                  first != nullptr ? &first->peer_memory : nullptr},
      network{*this},
      meetings{*this},
      polling{*this} {
  set_log_level(config.log);
  if (seals.active()) exchange.set_seals(seals);
  exchange.set_local(addresses_of(list_interfaces()));
  exchange.set_own(OwnRing::make(ring_size(config.ring_size)));
  std::vector<std::string> problems;
  link::FaultTap::OnLoss on_loss;
  if (!config.trace_folder.empty()) {
    trace_file = TraceFile::make(config, slot, problems);
    if (trace_file != nullptr) on_loss = trace_file->on_loss();
  }
  taps.emplace(config, exchange, *this, origins(), problems, std::move(on_loss));
  for (const std::string& problem : problems) log(LogLevel::kError, "%s", problem.c_str());
}

bool Shard::is_for_us(const wire::Frame& frame) const {
  const Qpn qpn = frame.headers.bth.dest_qp;
  if (qpn == kManagementQpn) return !exchange.reads_network() || exchange.slot_for(frame) == slot;
  return slot_of(qpn) == slot || qpn.value() == 0 || qpn.value() == Qpn::kMask;
}

link::PcapSink::Origins Shard::origins() const {
  // A frame in a ring bears the source port that its QP wants. The port it was really sent from,
  // which is unique to this process, is known only if all traffic uses UDP.
  const auto is_own = [this](const wire::Frame& frame) {
    return config.transport == Transport::kUdp && network.udp() != nullptr &&
           network.udp()->sender().sends_from(frame.flow.source_port);
  };
  return {.is_local = [this](const wire::Gid& gid) { return exchange.is_local(gid); },
          .is_own = is_own,
          .passes = [this](const wire::Frame& frame) { return !is_for_us(frame); }};
}

void Shard::deliver(std::span<const wire::Frame> frames, Time at) {
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
        pass_to(*adapter, some, at);
      }
    }
  }
}

bool Shard::came_by_its_path(const Adapter::State& adapter, const wire::Frame& frame) const {
  const wire::Bth& bth = frame.headers.bth;
  if (bth.dest_qp == kManagementQpn || bth.dest_qp.value() == Qpn::kMask) return true;
  if (wire::transport_of(bth.opcode) == wire::Transport::kUd) {
    return exchange.may_come_from(slot_of(frame.headers.deth.source_qp));
  }
  const auto route = adapter.nic.route_of(bth.dest_qp);
  // The engine counts frames for QPs that do not exist or have no peer.
  return !route || route->peer == Qpn{} ||
         exchange.may_come_from(route->destination, slot_of(route->peer));
}

bool Shard::may_enter(const Adapter::State& adapter, const wire::Frame& frame) {
  if (!came_by_its_path(adapter, frame)) return false;
  if (!seals.active()) return true;
  // A process that reads the network forwards what is for us.
  const bool remote = exchange.reads_network() || !exchange.is_local(frame.flow.source);
  return seals.accepts(frame, remote ? SealTable::Arrival::kNetwork : SealTable::Arrival::kRing);
}

void Shard::pass_to(Adapter::State& adapter, std::span<const wire::Frame> frames, Time at) {
  if (exchange.need_no_check() && !seals.active()) return adapter.nic.receive(frames, at);
  const auto same_qps = [](const wire::Frame& a, const wire::Frame& b) {
    const wire::Transport transport = wire::transport_of(a.headers.bth.opcode);
    return a.headers.bth.dest_qp == b.headers.bth.dest_qp && a.sealed == b.sealed &&
           transport == wire::transport_of(b.headers.bth.opcode) &&
           transport != wire::Transport::kUd;
  };
  const auto is_closed = [this](const wire::Frame& frame) {
    return seals.active() && SealTable::is_closed(frame);
  };
  while (!frames.empty()) {
    std::size_t run = 0;
    while (
        run < frames.size() && !is_closed(frames[run]) &&
        ((run > 0 && same_qps(frames[run - 1], frames[run])) || may_enter(adapter, frames[run]))) {
      ++run;
    }
    if (run > 0) {
      adapter.nic.receive(frames.first(run), at);
    } else if (is_closed(frames[0])) {
      // Often nothing: a packet of a handshake may come before its QP is connected.
      const auto opened = seals.open(frames[0], at);
      if (opened && came_by_its_path(adapter, *opened)) adapter.nic.receive({&*opened, 1}, at);
    } else {
      ++adapter.counters.transports.wrong_path;
    }
    frames = frames.subspan(std::max<std::size_t>(run, 1));
  }
}

std::size_t Shard::take_in(Time at) {
  const std::size_t arrived = exchange.receive(taps->own_sink(), taps->sink(), kBudget, at);
  unanswered_ += arrived;
  for (Adapter::State* adapter : adapters) {
    if (adapter->nic.awaits_memory()) [[unlikely]]
      adapter->nic.poll_memory(at);
  }
  return arrived;
}

void Shard::expire(Time at) {
  for (Adapter::State* adapter : adapters) {
    const std::optional<Time> deadline = adapter->nic.next_deadline();
    if (deadline && *deadline <= at) adapter->nic.expire(at);
  }
  taps->expire(at);
  if (seals.active() && network.udp() != nullptr) seals.expire(at, network.udp()->sender());
}

bool Shard::drive(Time at) {
  looked_at_ = at;
  const std::size_t arrived = take_in(at);
  expire(at);
  const std::uint64_t sent = exchange.frames_sent();
  if (arrived > 0 && owes_only_an_ack()) delayed_ack.took_in(at);
  if (!ack_waits(at)) transmit(at);
  if (polling.waiters.any()) wake(polling.waiters.take_ready());
  return arrived > 0 || exchange.frames_sent() != sent;
}

bool Shard::anything_unsent() {
  return !ack_waits(looked_at_) && std::ranges::any_of(adapters, [](const auto* a) {
    return a->nic.awaits_memory() || (a->nic.wants_to_send() && a->nic.port_active());
  });
}

bool Shard::owes_only_an_ack() const {
  return adapters.size() == 1 && adapters[0]->nic.owes_only_an_ack();
}

bool Shard::ack_waits(Time at) const {
  return delayed_ack.until() && at < *delayed_ack.until() && owes_only_an_ack();
}

bool Shard::anything_parked() {
  return std::ranges::any_of(adapters, [](const auto* a) { return a->nic.any_parked(); });
}

void Shard::wake(const PollWaiters::Woken& woken) const {
  wake_sleepers(woken);
  if (woken.listener) watcher.ring();
}

void Shard::transmit(Time at) {
  unanswered_ = 0;
  if (exchange.room_again(at)) {
    for (Adapter::State* adapter : adapters) adapter->nic.resume();
  }
  for (Adapter::State* adapter : adapters) {
    adapter->transmit(at);
    adapter->deliver_events();
  }
}

std::optional<Time> Shard::next_wake() {
  std::optional<Time> earliest = taps->next_deadline();
  const auto consider = [&](std::optional<Time> t) {
    if (t && (!earliest || *t < *earliest)) earliest = t;
  };
  for (Adapter::State* adapter : adapters) {
    consider(adapter->nic.next_deadline());
    if (adapter->nic.any_parked()) consider(now() + kLookForRoom);
  }
  consider(exchange.next_room());
  if (seals.active()) consider(seals.next_deadline());
  consider(delayed_ack.until());
  // No doorbell rings for frames that a thread of this process left to be read or sent.
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

void Shard::finish() {
  if (!try_long(lock)) return;
  // Acknowledge what peers have sent us, or they would retransmit to a dead process.
  if (anything_unsent()) transmit(now());
  // Disconnect all connections, as a kernel does when it cleans up after a process.
  for (Adapter::State* adapter : adapters) adapter->nic.cm().disconnect_all();
  if (anything_unsent()) transmit(now());
  if (!wait_for_disconnects()) return;
  taps->finish();
  lock.unlock();
  leave_host(slot);
}

bool Shard::wait_for_disconnects() {
  // Long enough for a DREQ and two retransmissions. It rarely takes longer than one round trip.
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
    if (!try_long(lock)) return false;
    drive(now());
  }
  return true;
}

void Shard::leave_to_parent() {
  left_to_parent = true;
  if (trace_file != nullptr) trace_file->trace().stop();
  exchange.leave();
  seals.leave();
  seal_setup.reset();
  polling.waiters.leave();
  peer_memory.leave();
  network.leave();
  meetings.leave();
  watcher.leave();
  if (own_set_) own_set_->leave();
  new (&lock) Lock;
  new (&reading_addresses_) std::mutex;
}

void Shard::aside_readable(int fd) {
  const Time at = now();
  for (link::UdpReceiver* in : {network.udp()->management(), network.udp()->multicast()}) {
    if (in == nullptr || in->fd() != fd) continue;
    if (exchange.receive_aside(*in, taps->sink(), kBudget, at) > 0) transmit(at);
    if (polling.waiters.any()) wake(polling.waiters.take_ready());
  }
}

void Shard::read_addresses() {
  // A list that was read earlier must not replace a newer one.
  const std::scoped_lock one_at_a_time{reading_addresses_};
  const std::vector<Interface> interfaces = list_interfaces();
  const std::scoped_lock guard{lock};
  exchange.set_local(addresses_of(interfaces));
  network.update_interfaces(interfaces);
  for (Adapter::State* adapter : adapters) {
    const auto same = std::ranges::find(interfaces, adapter->device.interface, &Interface::name);
    adapter->update(same != interfaces.end() ? &*same : nullptr);
    adapter->deliver_events();
  }
  (void)network.follow_groups();
}

void Shard::addresses_changed() {
  read_addresses();
  if (DeviceListener* const listener = device_listener) listener->on_devices_changed();
}

}  // namespace nerve::host
