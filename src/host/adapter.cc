#include "host/adapter.h"

#include "host/shard.h"

namespace nerve::host {
namespace {

// A thread may skip an empty poll this many times in a row because another thread holds the lock.
constexpr std::uint32_t kLeftToOthers = 64;

}  // namespace

Adapter::Adapter(Host& host, const Device& device) {
  Shard& primary = *host.primary_.load();
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
  first.shard.shards.lock();
  Shard& there = *first.shard.shards.locked()[shard];
  states_[shard] = new State{there, first.device, &first};
  first.shard.shards.unlock();
  return *states_[shard];
}

const Device& Adapter::device() const { return state(kPrimaryShard).device; }

std::uint32_t Adapter::interface_index() const {
  const State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shard.lock};
  return first.interface_index;
}

bool Adapter::has_address(const wire::Gid& gid) {
  State& first = state(kPrimaryShard);
  const auto owned = [&] {
    const std::scoped_lock guard{first.shard.lock};
    return first.owns(gid);
  };
  if (owned()) return true;
  first.shard.read_addresses();
  return owned();
}

void Adapter::listen(EventTarget& target) {
  State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shard.lock};
  first.listeners.push_back(&target);
}

void Adapter::unlisten(EventTarget& target) {
  State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shard.lock};
  std::erase(first.listeners, &target);
}

void Adapter::reach(ShardId from, const wire::Gid& peer, Qpn qpn) {
  state(from).shard.meetings.reach(peer, qpn);
}

ShardId Adapter::place(std::span<ShardChoice* const> parts, bool in_primary) {
  const ShardId shard = state(kPrimaryShard).shard.shards.place(parts, in_primary);
  (void)make_state(shard);
  return shard;
}

void Adapter::unplace(const ShardChoice& part) { state(kPrimaryShard).shard.shards.unplace(part); }

GpuMemory& Adapter::gpu_memory() const { return *state(kPrimaryShard).shard.shards.gpu_memory; }

bool Adapter::gpu_direct() const { return state(kPrimaryShard).shard.config.gpu_direct; }

bool Adapter::left_to_others(const ShardChoice& choice) const {
  thread_local std::uint32_t in_a_row = 0;
  const State* const there = states_[choice.shard()];
  if (there != nullptr && there->shard.lock.is_taken() && !there->shard.polling.cpus_contended() &&
      ++in_a_row < kLeftToOthers) {
    relax();
    return true;
  }
  in_a_row = 0;
  return false;
}

void Adapter::join_shards() { state(kPrimaryShard).shard.shards.join_all(); }

void Adapter::listen_cm(CmListener* listener) {
  State& first = state(kPrimaryShard);
  const std::scoped_lock guard{first.shard.lock};
  first.cm_listener = listener;
  first.deliver_events();
}

void Adapter::reach_service(const wire::Gid& peer, wire::ServiceId service) {
  state(kPrimaryShard).shard.meetings.reach_service(peer, service);
}

void Adapter::reach_comm(const wire::Gid& peer, wire::CommId id) {
  state(kPrimaryShard).shard.meetings.reach_comm(peer, id);
}

}  // namespace nerve::host
