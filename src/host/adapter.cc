#include "host/adapter.h"

#include <sched.h>
#include <sys/random.h>

#include <algorithm>

#include "host/log.h"
#include "host/shared.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

// While somebody drives, posts wait for each other up to this many: many leave as one train.
constexpr std::uint32_t kPostsTogether = 32;
// A QP may have so many packets on their way: of 4096 octets, as much as a socket's buffer holds
// where it has been enlarged, and as the caches of two cores do.
constexpr std::uint32_t kPacketsOnTheWay = 1024;
// A program with many completions to work off still moves frames each time it has taken so many.
constexpr std::uint32_t kFruitfulPolls = 8;

constexpr std::uint32_t kLeftToOthers = 64;

// How long a thread polls in vain on a busy machine before it sleeps. Not for long: a peer that was
// woken on the CPU that this thread keeps busy runs only when this thread sleeps. Where the
// program's own threads want the CPUs, sched_yield() comes first: it costs less than to sleep and
// be woken.
constexpr Duration kSpinBeforeSleep = std::chrono::microseconds{20};
constexpr Duration kSpinInCrowd = std::chrono::microseconds{50};

template <class Value>
Value drawn() {
  Value value{};
  if (::getrandom(&value, sizeof value, 0) != sizeof value) {
    log(LogLevel::kWarn, "the kernel gives no random numbers: memory keys can be guessed");
  }
  return value;
}

nic::NicConfig config_for(Host::Shared& host, const Device& device, bool by_short_cut) {
  nic::NicConfig config;
  config.gid_table_size = kGidTableSize;
  config.first_qpn = Qpn{host.slot << kSlotShift};
  config.limits.max_qp = kQpnsPerSlot;
  config.begin_qpns_at = drawn<std::uint32_t>();
  config.guid = device.node_guid;
  config.first_comm_id = host.slot << nic::kCommIdBits;
  config.refusal_patience = std::chrono::milliseconds{100};
  config.begin_comm_ids_at = drawn<std::uint32_t>();
  config.gate = &host.exchange;
  config.max_outstanding_packets = config.max_read_packets = kPacketsOnTheWay;
  // Keys of two engines could be equal, and the table of rights is one; and what is to be captured
  // or disturbed must be sent.
  const bool tapped = !host.config.pcap.empty() || !host.config.fault.empty();
  if (by_short_cut && !tapped) config.short_cut = &host.neighbours;
  config.flow_control.algorithm = host.config.congestion;
  config.flow_control.shrink_on_loss = true;
  config.selective_repeat.offer = true;
  config.tail_probe.on = true;
  config.tail_probe.every_path = !host.config.fault.empty();
  config.key_secret = drawn<SipKey>();
  return config;
}

}  // namespace

Adapter::State::State(Host::Shared& host, const Device& given, State* first)
    : shared{host},
      device{given},
      gids{given.gids},
      interface_index{given.interface_index},
      by_short_cut{first != nullptr ? first->by_short_cut : host.adapters.empty()},
      nic{first != nullptr ? nic::Nic{config_for(host, given, by_short_cut), first->nic}
                           : nic::Nic{config_for(host, given, by_short_cut)}} {
  for (std::uint32_t i = 0; i < device.gids.size(); ++i) (void)nic.set_gid(i, device.gids[i]);
  nic.set_port_active(device.up);
  if (first != nullptr) follow(*first);
  while (nic.next_event()) {  // how it came to be is nobody's news
  }
  shared.adapters.push_back(this);
}

void Adapter::State::follow(const State& other) {
  gids = other.gids;
  interface_index = other.interface_index;
  for (std::uint32_t i = 0; i < kGidTableSize; ++i) (void)nic.set_gid(i, *other.nic.query_gid(i));
  nic.set_port_active(other.nic.port_active());
}

Adapter::State::~State() {
  const std::scoped_lock guard{shared.lock};
  std::erase(shared.adapters, this);
}

void Adapter::State::update(const Interface* changed) {
  gids = changed != nullptr ? gids_of(*changed) : std::vector<wire::Gid>{};
  interface_index = changed != nullptr ? changed->index : 0;
  // An address keeps its place in the table as long as it is there; new ones take free places.
  std::vector<wire::Gid> table(kGidTableSize);
  for (std::uint32_t i = 0; i < kGidTableSize; ++i) table[i] = *nic.query_gid(i);
  for (wire::Gid& gid : table) {
    if (std::ranges::find(gids, gid) == gids.end()) gid = {};
  }
  for (const wire::Gid& gid : gids) {
    if (std::ranges::find(table, gid) != table.end()) continue;
    const auto place = std::ranges::find_if(table, &wire::Gid::is_zero);
    if (place != table.end()) *place = gid;
  }
  for (std::uint32_t i = 0; i < kGidTableSize; ++i) {
    if (*nic.query_gid(i) != table[i]) (void)nic.set_gid(i, table[i]);
  }
  const bool up = changed != nullptr && changed->up;
  if (nic.port_active() != up) nic.set_port_active(up);
}

bool Adapter::State::owns(const wire::Gid& gid) const {
  return std::ranges::find(gids, gid) != gids.end();
}

void Adapter::State::transmit(Time at) {
  waiting_posts = 0;
  shared.delayed_ack.sent();
  if (shared.left_to_parent) return;
  for (bool left = false;;) {
    shared.exchange.begin_burst(at);
    if (nic.transmit(burst, at) > 0) {
      shared.taps->egress().send(burst.frames(), at);
      left = true;
    } else if (left && nic.any_parked() && shared.exchange.room_again(at)) {
      // They had to wait for what has left now, and nobody may come back for them: a program that
      // has what it wanted destroys its QPs, and the ACKs that they owe.
      nic.resume();
      left = false;
    } else {
      break;
    }
  }
}

void Adapter::State::tell_events() {
  while (const auto event = nic.next_event()) {
    if (event->cookie != 0) {
      reinterpret_cast<EventTarget*>(event->cookie)->on_event(*event);
    } else if (shared.primary == &shared) {  // the port is one, whatever the number of its engines
      for (EventTarget* listener : listeners) listener->on_event(*event);
    }
  }
  if (cm_listener != nullptr) tell_cm_events();
}

void Adapter::State::tell_cm_events() {
  while (const auto event = nic.cm().next_event()) cm_listener->on_cm_event(nic, *event);
}

Adapter::Adapter(Host& host, const Device& device) {
  Host::Shared& primary = *host.shared_.load();
  const std::scoped_lock guard{primary.lock};
  states_[kPrimaryShard] = new State{primary, device, nullptr};
}

Adapter::~Adapter() {
  for (std::size_t i = states_.size(); i-- > 0;) delete states_[i].load();
}

Adapter::State& Adapter::make_state(ShardId shard) {
  const std::scoped_lock one_at_a_time{making_};
  if (State* const made = states_[shard]) return *made;
  State& first = state(kPrimaryShard);
  lock_all(first.shared);
  Host::Shared& there = *first.shared.shards[shard];
  states_[shard] = new State{there, first.device, &first};
  unlock_all(first.shared);
  return *states_[shard];
}

const Device& Adapter::device() const { return state(kPrimaryShard).device; }

std::uint32_t Adapter::interface_index() const {
  const State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shared.lock};
  return first.interface_index;
}

void Adapter::listen(EventTarget& target) {
  State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shared.lock};
  first.listeners.push_back(&target);
}

void Adapter::unlisten(EventTarget& target) {
  State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shared.lock};
  std::erase(first.listeners, &target);
}

void Adapter::reach(ShardId from, const wire::Gid& peer, Qpn qpn) {
  state(from).shared.reach(peer, qpn);
}

ShardId Adapter::place(std::span<ShardChoice* const> parts, bool in_primary) {
  const ShardId shard = state(kPrimaryShard).shared.place(parts, in_primary);
  (void)make_state(shard);
  return shard;
}

void Adapter::unplace(const ShardChoice& part) { state(kPrimaryShard).shared.unplace(part); }

bool Adapter::left_to_others(const ShardChoice& choice) const {
  thread_local std::uint32_t in_a_row = 0;
  const State* const there = states_[choice.shard()];
  if (there != nullptr && there->shared.lock.is_taken() && !there->shared.busy &&
      ++in_a_row < kLeftToOthers) {
    relax();
    return true;
  }
  in_a_row = 0;
  return false;
}

void Adapter::join_shards() { state(kPrimaryShard).shared.join_all_shards(); }

void Adapter::listen_cm(CmListener* listener) {
  State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shared.lock};
  first.cm_listener = listener;
  first.tell_events();
}

void Adapter::reach_service(const wire::Gid& peer, wire::ServiceId service) {
  state(kPrimaryShard).shared.reach_service(peer, service);
}

void Adapter::reach_comm(const wire::Gid& peer, wire::CommId id) {
  state(kPrimaryShard).shared.reach_comm(peer, id);
}

Adapter::Session::Session(Adapter& adapter, ShardId shard, For purpose)
    : state_{adapter.state(shard)}, purpose_{lock(state_, purpose)} {
  begin();
}

Adapter::Session::Session(Adapter& adapter, const ShardChoice& choice, For purpose)
    : state_{lock(adapter, choice, purpose)}, purpose_{purpose} {
  begin();
}

Adapter::Session::For Adapter::Session::lock(State& state, For purpose) {
  Host::Shared& primary = *state.shared.primary;
  if (purpose == For::kAll) {
    lock_all(primary);
    return purpose;
  }
  if (purpose == For::kObjects || purpose == For::kMemory) primary.objects.lock();
  if (purpose == For::kMemory && primary.one_shard_from_now_on) purpose = For::kObjects;
  if (purpose != For::kMemory) state.shared.lock.lock();
  return purpose;
}

void Adapter::Session::unlock(State& state, For purpose) {
  if (purpose == For::kAll) return unlock_all(state.shared);
  if (purpose != For::kMemory) state.shared.lock.unlock();
  if (purpose == For::kObjects || purpose == For::kMemory) state.shared.primary->objects.unlock();
}

// The choice may be made while we wait for the lock of the shard that was meant before.
Adapter::State& Adapter::Session::lock(Adapter& adapter, const ShardChoice& choice, For purpose) {
  for (;;) {
    const ShardId shard = choice.shard();
    State* const state = adapter.states_[shard];
    if (state == nullptr) {  // chosen a moment ago
      (void)adapter.make_state(shard);
      continue;
    }
    (void)lock(*state, purpose);
    if (choice.shard() == shard) return *state;
    unlock(*state, purpose);
  }
}

void Adapter::Session::begin() {
  if (purpose_ == For::kWork || purpose_ == For::kMemory) return;
  if (state_.nic.wants_to_send()) state_.shared.transmit(now());
  state_.shared.neighbours.begin_deferring();
}

void Adapter::Session::tell_events() {
  state_.tell_events();
  const std::vector<Host::Shared*>& group = state_.shared.leader->members;
  if (group.size() == 1) return;
  for (Host::Shared* member : group) {
    for (State* adapter : member->adapters) adapter->tell_events();
  }
}

Adapter::Session::~Session() {
  Host::Shared& shared = state_.shared;
  if (purpose_ == For::kMemory) {
    unlock(state_, purpose_);
    return;
  }
  // Few, and a connection waits for each: they do not wait for company.
  if (shared.ports && state_.nic.cm().wants_to_send()) state_.transmit(now());
  tell_events();
  if (shared.watcher.asleep()) {
    // What was posted may have to be sent again, and its program may never call again.
    if (const std::optional<Time> wake = shared.next_wake()) shared.watcher.expect(*wake);
  }
  PollWaiters::Woken woken;
  if (shared.poll_waiters.any()) woken = shared.poll_waiters.take_ready(posted_);
  if (purpose_ == For::kWork) {
    shared.lock.unlock();
    if (give_way_) ::sched_yield();
  } else {
    end_control();
  }
  shared.wake(woken);
}

// Rights that were withdrawn: other threads, or other processes, may be in the middle of using
// them, and may have lost their CPUs. Only this thread waits for them.
void Adapter::Session::end_control() {
  Host::Shared& shared = state_.shared;
  using enum NeighbourMemory::Withdrawn;
  const NeighbourMemory::Withdrawn withdrawn = shared.neighbours.end_deferring();
  std::vector<PendingPlacement> pending;
  if (withdrawn == kQp) shared.neighbours.add_placements(pending);
  unlock(state_, purpose_);
  if (withdrawn == kKey || users_leave_) shared.pass_through_all();
  wait_for(pending);
}

nic::Nic& Adapter::Session::nic() const { return state_.nic; }

int Adapter::Session::groups_changed() { return state_.shared.follow_groups(); }

void Adapter::Session::posted() {
  Host::Shared& shared = state_.shared;
  posted_ = true;
  if (shared.busy) EmptyPolls::of_this_thread().note_post();
  if (shared.delayed_ack.awaits_post()) {
    // An ACK that leaves with a request: the peer's next one will come while the program polls.
    if (shared.delayed_ack.until()) shared.watcher.believe_polls();
    shared.delayed_ack.posted(now());
  }
  const bool wait = state_.waiting_posts > 0 && shared.is_driven();
  if (wait && state_.waiting_posts < kPostsTogether) {
    ++state_.waiting_posts;
    return;
  }
  state_.transmit(shared.watcher.somebody_polls() ? shared.lately() : now());
  state_.waiting_posts = 1;
}

void Adapter::Session::posted_receives() {
  const Host::Shared& shared = state_.shared;
  const bool can_wait = shared.watcher.somebody_polls() && shared.is_driven();
  if (!can_wait && state_.nic.wants_to_send()) state_.transmit(now());
}

void Adapter::Session::found_something() {
  if (state_.shared.busy) EmptyPolls::of_this_thread().reset();
}

bool Adapter::Session::found_nothing(nic::CqHandle cq) {
  Host::Shared& shared = state_.shared;
  if (!shared.busy || shared.left_to_parent) return false;
  EmptyPolls& polls = EmptyPolls::of_this_thread();
  const Time at = now();
  polls.note(state_.nic, cq, shared.leader->lock, at);
  const bool crowded = shared.crowd.crowded();
  // A thread that polls for others would spin on a CPU that they need to post.
  const bool at_once = polls.only_polls() && (crowded || polls.woken_by_post());
  const Duration spin = at_once ? Duration{} : crowded ? kSpinInCrowd : kSpinBeforeSleep;
  if (at - polls.began() < spin) {
    give_way_ = crowded_;
    return false;
  }
  shared.wait_in_poll(polls);
  return true;
}

void Adapter::Session::polled() {
  Host::Shared& shared = state_.shared;
  found_something();
  if (++shared.fruitful_polls % kFruitfulPolls == 0) {
    (void)shared.poll();
  } else {
    shared.watcher.polled();
  }
}

void Adapter::Session::drive() {
  for (Host::Shared* member : state_.shared.leader->members) {
    crowded_ = member->poll() || crowded_;
  }
}

}  // namespace nerve::host
