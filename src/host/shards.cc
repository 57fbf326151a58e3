// The shards of a process: how they are made, chosen, joined and locked together.
#include <algorithm>

#include "host/diagnostics/log.h"
#include "host/runtime/cpus.h"
#include "host/shared.h"

namespace nerve::host {

void lock_all(Host::Shared& any) {
  Host::Shared& primary = *any.primary;
  primary.objects.lock();
  primary.lock.lock();
  // Those that were joined to others are locked with these. Neither list nor groups change now.
  for (Host::Shared* shard : primary.shards) {
    if (shard->leads() && shard != &primary) shard->lock.lock();
  }
}

void unlock_all(Host::Shared& any) {
  Host::Shared& primary = *any.primary;
  for (Host::Shared* shard : primary.shards) {
    if (shard->leads() && shard != &primary) shard->lock.unlock();
  }
  primary.lock.unlock();
  primary.objects.unlock();
}

void Host::Shared::pass_through_all() {
  std::vector<PendingPlacement> pending;
  for (Shared* shard : shards_of(*this)) {
    const std::scoped_lock guard{shard->lock};
    shard->peer_memory.add_placements(pending);
  }
  wait_for(pending);
}

std::uint32_t Host::Shared::most_shards() const {
  if (one_shard_from_now_on) return static_cast<std::uint32_t>(shards.size());
  // Captures are written in one order, and faults drawn from one seed.
  if (!config.pcap.empty() || !config.fault.empty()) return 1;
  // The peers of a process often run on the same machine, and each shard has a thread at both ends.
  return std::min<std::uint32_t>(config.shards.value_or((usable_cpus() + 1) / 2), kMaxShards);
}

ShardId Host::Shared::least_loaded() {
  const auto least = std::ranges::min_element(shards, {}, [](const Shared* s) { return s->cqs; });
  if ((*least)->cqs == 0 || shards.size() >= most_shards()) return (*least)->index;
  Shared* const made = add_shard();
  return made != nullptr ? made->index : (*least)->index;
}

Host::Shared* Host::Shared::add_shard() {
  // Half of the slots are kept for processes.
  if (live_slots().size() >= kSlots / 2) return nullptr;
  auto made = make_shared(this);
  if (!made) return nullptr;
  {
    const std::scoped_lock guard{made->lock};
    if (!made->watcher.start()) return nullptr;
  }
  made->open_udp();
  lock_all(*this);
  made->lock.lock();  // it is one of them now
  made->index = static_cast<ShardId>(shards.size());
  shards.push_back(made.get());
  unlock_all(*this);
  return made.release();  // for as long as the process lives, as the primary
}

void Host::Shared::join_shards(Shared& a, Shared& b) {
  Shared* into = a.leader;
  Shared* joins = b.leader;
  if (into == joins) return;
  if (joins->index < into->index) std::swap(into, joins);
  for (Shared* member : joins->members) member->leader = into;
  into->members.insert(into->members.end(), joins->members.begin(), joins->members.end());
  joins->members.clear();
  joins->lock.join(into->lock);
}

ShardId Host::Shared::place(std::span<ShardChoice* const> parts, bool in_primary) {
  const std::scoped_lock one_at_a_time{primary->making};
  std::optional<ShardId> chosen;
  if (in_primary) chosen = kPrimaryShard;
  bool all_made = true;
  for (const ShardChoice* part : parts) {
    if (part->made() && !chosen) chosen = part->shard();
    all_made = all_made && part->made() && part->shard() == *chosen;
  }
  if (all_made && chosen) return *chosen;
  if (!chosen) chosen = primary->least_loaded();
  lock_all(*this);
  for (ShardChoice* part : parts) {
    if (!part->made()) {
      part->make(*chosen);
      ++primary->shards[*chosen]->cqs;
    } else if (part->shard() != *chosen) {
      join_shards(*primary->shards[*chosen], *primary->shards[part->shard()]);
    }
  }
  unlock_all(*this);
  return *chosen;
}

void Host::Shared::unplace(const ShardChoice& part) {
  const std::scoped_lock one_at_a_time{primary->making};
  if (part.made()) --primary->shards[part.shard()]->cqs;
}

void Host::Shared::join_all_shards() {
  const std::scoped_lock one_at_a_time{primary->making};
  lock_all(*this);
  primary->one_shard_from_now_on = true;
  for (Shared* shard : primary->shards) join_shards(*primary, *shard);
  unlock_all(*this);
}

}  // namespace nerve::host
