// A Session: the locks of an adapter's shards, and what is seen to before they are released.
#include <sched.h>

#include "host/shard.h"
#include "nic/connection/connection_manager.h"

namespace nerve::host {
namespace {

// While somebody drives, posts wait for each other up to this many: many leave as one train.
constexpr std::uint32_t kPostsTogether = 32;

}  // namespace

Adapter::Session::Session(Adapter& adapter, ShardId shard, For purpose)
    : state_{adapter.state(shard)}, purpose_{lock(state_, purpose)} {
  begin();
}

Adapter::Session::Session(Adapter& adapter, const ShardChoice& choice, For purpose)
    : state_{lock(adapter, choice, purpose)}, purpose_{purpose} {
  begin();
}

Adapter::Session::For Adapter::Session::lock(State& state, For purpose) {
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
  if (state_.nic.wants_to_send()) state_.shard.transmit(now());
  state_.shard.peer_memory.begin_deferring();
}

void Adapter::Session::tell_events() {
  state_.tell_events();
  const std::vector<Shard*>& group = state_.shard.leader->members;
  if (group.size() == 1) return;
  for (Shard* member : group) {
    for (State* adapter : member->adapters) adapter->tell_events();
  }
}

Adapter::Session::~Session() {
  Shard& shard = state_.shard;
  if (purpose_ == For::kMemory) {
    unlock(state_, purpose_);
    return;
  }
  // Few, and a connection waits for each: they do not wait for company.
  if (shard.network.ports() != nullptr && state_.nic.cm().wants_to_send()) state_.transmit(now());
  tell_events();
  if (shard.watcher.asleep()) {
    // What was posted may have to be sent again, and its program may never call again.
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

// Rights that were withdrawn: other threads, or other processes, may be in the middle of using
// them, and may have lost their CPUs. Only this thread waits for them.
void Adapter::Session::end_control() {
  Shard& shard = state_.shard;
  using enum PeerMemory::Withdrawn;
  const PeerMemory::Withdrawn withdrawn = shard.peer_memory.end_deferring();
  std::vector<PendingPlacement> pending;
  if (withdrawn == kQp) shard.peer_memory.add_placements(pending);
  unlock(state_, purpose_);
  if (withdrawn == kKey || users_leave_) shard.shards.pass_through_all();
  wait_for(pending);
}

nic::Nic& Adapter::Session::nic() const { return state_.nic; }

int Adapter::Session::groups_changed() { return state_.shard.network.follow_groups(); }

void Adapter::Session::posted() {
  Shard& shard = state_.shard;
  posted_ = true;
  shard.polling.note_post();
  if (shard.delayed_ack.awaits_post()) {
    // An ACK that leaves with a request: the peer's next one will come while the program polls.
    if (shard.delayed_ack.until()) shard.watcher.believe_polls();
    shard.delayed_ack.posted(now());
  }
  const bool wait = state_.waiting_posts > 0 && shard.is_driven();
  if (wait && state_.waiting_posts < kPostsTogether) {
    ++state_.waiting_posts;
    return;
  }
  state_.transmit(shard.watcher.somebody_polls() ? shard.lately() : now());
  state_.waiting_posts = 1;
}

void Adapter::Session::posted_receives() {
  const Shard& shard = state_.shard;
  const bool can_wait = shard.watcher.somebody_polls() && shard.is_driven();
  if (!can_wait && state_.nic.wants_to_send()) state_.transmit(now());
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
