#include "host/shard_set.h"

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "host/config/policy_setting.h"
#include "host/gpu/copier_start.h"
#include "host/gpu/gpu_memory.h"
#include "host/peers/statistics.h"
#include "host/runtime/cpus.h"
#include "host/shard.h"

namespace nerve::host {

ShardSet::ShardSet(Shard& primary, const Config& config)
    : gpu_memory{std::make_unique<GpuMemory>(config.gpu_copier ? copier_program() : "")},
      policy{load_policy(config)},
      all_{&primary} {}
ShardSet::~ShardSet() = default;

std::vector<Shard*> ShardSet::all() const {
  const std::scoped_lock guard{primary().lock};
  return all_;
}

void ShardSet::lock() {
  objects.lock();
  primary().lock.lock();
  // Joined shards share their leader's lock, so locking the leaders is enough. The list and the
  // groups cannot change now: both need the locks taken above.
  for (Shard* shard : all_) {
    if (shard->leads() && !shard->is_primary()) shard->lock.lock();
  }
}

void ShardSet::unlock() {
  for (Shard* shard : all_) {
    if (shard->leads() && !shard->is_primary()) shard->lock.unlock();
  }
  primary().lock.unlock();
  objects.unlock();
}

void ShardSet::pass_through_all() const {
  std::vector<PendingPlacement> pending;
  for (Shard* shard : all()) {
    const std::scoped_lock guard{shard->lock};
    shard->peer_memory.add_placements(pending);
  }
  wait_for(pending);
}

std::uint32_t ShardSet::limit() const {
  if (one_from_now_on_) return static_cast<std::uint32_t>(all_.size());
  const Config& config = primary().config;
  // A capture is written in one order, and faults are drawn from one seed.
  if (!config.pcap.empty() || !config.fault.empty()) return 1;
  // Each connection keeps a thread busy at both ends, and peers often run on the same machine: use
  // half of the CPUs.
  return std::min<std::uint32_t>(config.shards.value_or((usable_cpus() + 1) / 2), kMaxShards);
}

ShardId ShardSet::least_loaded() {
  const auto least = std::ranges::min_element(all_, {}, [](const Shard* s) { return s->cqs; });
  if ((*least)->cqs == 0 || all_.size() >= limit()) return (*least)->index;
  Shard* const made = add();
  return made != nullptr ? made->index : (*least)->index;
}

Shard* ShardSet::add() {
  // Reserve half of the slots for other processes.
  if (live_slots().size() >= kSlots / 2) return nullptr;
  auto made = Shard::make(&primary());
  if (!made) return nullptr;
  {
    const std::scoped_lock guard{made->lock};
    if (!made->watcher.start()) return nullptr;
  }
  publish(*made);
  made->network.open();
  lock();
  made->lock.lock();  // unlock() below releases it, because it is in the list then
  made->index = static_cast<ShardId>(all_.size());
  all_.push_back(made.get());
  unlock();
  return made.release();  // never deleted, like the primary
}

void ShardSet::publish(Shard& shard) {
  if (shard.statistics != nullptr) return;
  if (!tried_statistics_) {
    tried_statistics_ = true;
    statistics_ = Statistics::open().release();
    // Our background thread answers, so whoever asks now gets it from us.
    if (Statistics* const made = statistics_) made->handed_on();
  }
  if (Statistics* const all = statistics_) shard.statistics = &all->enter(shard.slot);
}

void ShardSet::join(Shard& a, Shard& b) {
  Shard* into = a.leader;
  Shard* joins = b.leader;
  if (into == joins) return;
  if (joins->index < into->index) std::swap(into, joins);
  for (Shard* member : joins->members) member->leader = into;
  into->members.insert(into->members.end(), joins->members.begin(), joins->members.end());
  joins->members.clear();
  joins->lock.join(into->lock);
}

ShardId ShardSet::place(std::span<ShardChoice* const> parts, bool in_primary) {
  const std::scoped_lock one_at_a_time{making};
  std::optional<ShardId> chosen;
  if (in_primary) chosen = kPrimaryShard;
  bool all_made = true;
  for (const ShardChoice* part : parts) {
    if (part->made() && !chosen) chosen = part->shard();
    all_made = all_made && part->made() && part->shard() == *chosen;
  }
  if (all_made && chosen) return *chosen;
  if (!chosen) chosen = least_loaded();
  lock();
  for (ShardChoice* part : parts) {
    if (!part->made()) {
      part->make(*chosen);
      ++all_[*chosen]->cqs;
    } else if (part->shard() != *chosen) {
      join(*all_[*chosen], *all_[part->shard()]);
    }
  }
  unlock();
  return *chosen;
}

void ShardSet::unplace(const ShardChoice& part) {
  const std::scoped_lock one_at_a_time{making};
  if (part.made()) --all_[part.shard()]->cqs;
}

void ShardSet::join_all() {
  const std::scoped_lock one_at_a_time{making};
  lock();
  one_from_now_on_ = true;
  for (Shard* shard : all_) join(primary(), *shard);
  unlock();
}

void ShardSet::lock_for_fork() {
  // Same order as lock(). The list does not change while the primary's lock is held.
  objects_locked_for_fork_ = try_long(objects);
  if (!try_long(primary().lock)) return;
  locked_for_fork_.push_back(&primary());
  for (Shard* shard : all_) {
    if (!shard->is_primary() && shard->leads() && try_long(shard->lock)) {
      locked_for_fork_.push_back(shard);
    }
  }
}

void ShardSet::unlock_after_fork() {
  if (std::exchange(objects_locked_for_fork_, false)) objects.unlock();
  const std::vector<Shard*> locked = std::exchange(locked_for_fork_, {});
  for (auto shard = locked.rbegin(); shard != locked.rend(); ++shard) (*shard)->lock.unlock();
}

void ShardSet::leave() {
  if (Statistics* const all = statistics_) all->leave();
  gpu_memory->leave_to_parent();
  new (&making) std::mutex;
  new (&objects) Lock;
}

}  // namespace nerve::host
