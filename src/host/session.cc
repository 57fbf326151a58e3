// A Session: takes the locks of an adapter's shards, and does the pending work before it releases
// them.
#include <sched.h>

#include <atomic>

#include "host/diagnostics/log.h"
#include "host/shard.h"
#include "nic/connection/connection_manager.h"
#include "wire/describe.h"

namespace nerve::host {
namespace {

// While a thread drives the engine, up to this many posts are collected and sent as one train.
constexpr std::uint32_t kPostsTogether = 32;

}  // namespace

Adapter::Session::Session(Adapter& adapter, ShardId shard, For purpose)
    : state_{adapter.state(shard)}, purpose_{lock(state_, purpose)} {
  if (purpose_ != For::kWork) begin_control();
}

Adapter::Session::Session(Adapter& adapter, const ShardChoice& choice, For purpose)
    : state_{lock(adapter, choice, purpose)}, purpose_{purpose} {
  if (purpose_ != For::kWork) begin_control();
}

Adapter::Session::For Adapter::Session::lock(State& state, For purpose) {
  if (purpose != For::kWork) return lock_for_control(state, purpose);
  state.shard.lock.lock();
  return purpose;
}

Adapter::Session::For Adapter::Session::lock_for_control(State& state, For purpose) {
  ShardSet& shards = state.shard.shards;
  if (purpose == For::kAll) {
    shards.lock();
    return purpose;
  }
  if (purpose == For::kObjects || purpose == For::kMemory) shards.objects.lock();
  if (purpose == For::kMemory && shards.one_from_now_on()) purpose = For::kObjects;
  if (purpose != For::kMemory) state.shard.lock.lock();
  return purpose;
}

void Adapter::Session::unlock(State& state, For purpose) {
  if (purpose == For::kAll) return state.shard.shards.unlock();
  if (purpose != For::kMemory) state.shard.lock.unlock();
  if (purpose == For::kObjects || purpose == For::kMemory) state.shard.shards.objects.unlock();
}

// The choice may be made while this thread waits for the lock of the shard assumed before, so check
// again.
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

void Adapter::Session::begin_control() {
  if (purpose_ == For::kMemory) return;
  if (state_.nic.wants_to_send()) state_.shard.transmit(now());
  state_.shard.peer_memory.begin_deferring();
}

void Adapter::Session::deliver_events() {
  state_.deliver_events();
  const std::vector<Shard*>& group = state_.shard.leader->members;
  if (group.size() == 1) return;
  for (Shard* member : group) {
    for (State* adapter : member->adapters) adapter->deliver_events();
  }
}

Adapter::Session::~Session() {
  if (purpose_ == For::kWork && (idle_ || nothing_pending())) [[likely]] {
    state_.shard.lock.unlock();
  } else {
    end();
  }
}

bool Adapter::Session::nothing_pending() const {
  const Shard& shard = state_.shard;
  const bool alone = shard.leads() && shard.members.size() == 1;
  return alone && !give_way_ && state_.cm_listener == nullptr && !state_.nic.any_event() &&
         !shard.watcher.asleep() && !shard.polling.waiters.any() &&
         (shard.network.ports() == nullptr || !state_.nic.cm().wants_to_send());
}

void Adapter::Session::end() {
  Shard& shard = state_.shard;
  if (purpose_ == For::kMemory) {
    unlock(state_, purpose_);
    return;
  }
  // CM datagrams are rare, and a connection waits for each of them, so they are not batched.
  if (shard.network.ports() != nullptr && state_.nic.cm().wants_to_send()) state_.transmit(now());
  deliver_events();
  if (shard.watcher.asleep()) {
    // Posted work may need retransmission, and the program may never call again: set the background
    // thread's timer.
    if (const std::optional<Time> wake = shard.next_wake()) shard.watcher.expect(*wake);
  }
  PollWaiters::Woken woken;
  if (shard.polling.waiters.any()) woken = shard.polling.waiters.take_ready(posted_);
  if (purpose_ == For::kWork) {
    shard.lock.unlock();
    if (give_way_) ::sched_yield();
  } else {
    end_control();
  }
  shard.wake(woken);
}

// Revoked rights may still be in use by other threads or processes, which may have been preempted
// in the middle of an access. Only this thread waits for them, after it has released the locks.
void Adapter::Session::end_control() {
  Shard& shard = state_.shard;
  using enum PeerMemory::Withdrawn;
  const PeerMemory::Withdrawn withdrawn = shard.peer_memory.end_deferring();
  std::vector<PendingPlacement> pending;
  if (withdrawn == kQp) shard.peer_memory.add_placements(pending);
  unlock(state_, purpose_);
  if (withdrawn == kKey || users_leave_) shard.shards.pass_through_all();
  wait_for(pending);
  if (withdrawn != kNothing || users_leave_) shard.peer_memory.settle_copies();
}

void Adapter::Session::explain_no_answer(Qpn qpn) const {
  static std::atomic<bool> explained{};
  const auto route = nic().route_of(qpn);
  if (!route || route->answered || explained.exchange(true)) return;
  log(LogLevel::kWarn,
      "qp 0x%x: no answer from %s to packets from %s (%s, %s). If the peer runs, does this device "
      "reach it? `nerve devices` lists others. Both ends need the same --port",
      qpn.value(), wire::to_string(route->destination).c_str(),
      wire::to_string(route->source).c_str(), state_.device.name.c_str(),
      state_.device.interface.c_str());
}

nic::Nic& Adapter::Session::nic() const { return state_.nic; }

int Adapter::Session::groups_changed() { return state_.shard.network.follow_groups(); }

void Adapter::Session::follow_seal(Qpn qpn, nic::QpState state) {
  Shard& shard = state_.shard;
  if (!shard.seals.active()) return;
  if (state == nic::QpState::kReset || state == nic::QpState::kInit) {
    shard.seals.disconnect(qpn);
    return;
  }
  const auto route = state_.nic.route_of(qpn);
  if (state != nic::QpState::kRtr || !route || route->peer == Qpn{}) return;
  const std::uint32_t slot = slot_of(route->peer);
  const bool by_ring = shard.exchange.ring_to(route->destination, route->peer) != nullptr ||
                       (slot == shard.slot && shard.exchange.is_local(route->destination) &&
                        shard.config.transport != Transport::kUdp);
  if (by_ring) return;  // its packets do not leave the host
  shard.seals.connect({.gid = route->source, .qpn = qpn},
                      {.gid = route->destination, .qpn = route->peer}, shard.look_at_clock());
  if (!shard.is_driven()) shard.watcher.ring();
}

void Adapter::Session::posted() {
  Shard& shard = state_.shard;
  posted_ = true;
  if (nic::Trace* const trace = shard.trace()) [[unlikely]]
    trace->doorbell();
  shard.polling.note_post();
  if (shard.delayed_ack.awaits_post()) {
    // A delayed ACK leaves with this request, so the peer's next request will arrive while the
    // program polls.
    if (shard.delayed_ack.until()) shard.watcher.reset_poll_threshold();
    shard.delayed_ack.posted(now());
  }
  const bool wait = state_.waiting_posts > 0 && shard.is_driven();
  if (wait && state_.waiting_posts < kPostsTogether) {
    ++state_.waiting_posts;
    return;
  }
  state_.transmit(shard.watcher.program_polls() ? shard.lately() : now());
  state_.waiting_posts = 1;
}

void Adapter::Session::posted_receives() {
  const Shard& shard = state_.shard;
  const bool can_wait = shard.watcher.program_polls() && shard.is_driven();
  if (!can_wait && state_.nic.wants_to_send()) state_.transmit(now());
}

bool Adapter::Session::idle() {
  const Shard& shard = state_.shard;
  idle_ = shard.leads() && shard.members.size() == 1 && state_.shard.polling.idle();
  return idle_;
}

void Adapter::Session::found_something() { state_.shard.polling.found_something(); }

bool Adapter::Session::found_nothing(nic::CqHandle cq) {
  Polling& polling = state_.shard.polling;
  if (polling.found_nothing(state_.nic, cq)) return true;
  give_way_ = crowded_ && polling.cpus_contended();
  return false;
}

void Adapter::Session::polled() { state_.shard.polling.poll_after_success(); }

void Adapter::Session::drive() {
  for (Shard* member : state_.shard.leader->members) {
    crowded_ = member->polling.poll() || crowded_;
  }
}

}  // namespace nerve::host
