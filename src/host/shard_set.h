// The shards of a process: creates them, assigns objects to them, joins them, and locks them
// together.
//
// Lives as long as the process, like the shards.
//
// Lock order: `making`, then `objects`, then the primary's lock, then the locks of the other
// leaders in list order. A thread that holds a shard's lock never takes a lock that comes before
// it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/config/config.h"
#include "host/runtime/lock.h"
#include "host/shard_choice.h"
#include "nic/flow_control/policy.h"

namespace nerve::host {

class Adapter;
class GpuMemory;
class Shard;
class Statistics;

class ShardSet {
 public:
  ShardSet(Shard& primary, const Config& config);
  ~ShardSet();
  ShardSet(const ShardSet&) = delete;
  ShardSet& operator=(const ShardSet&) = delete;

  [[nodiscard]] Shard& primary() const { return *all_.front(); }
  // The current shards. Takes the primary's lock.
  [[nodiscard]] std::vector<Shard*> all() const;
  // The same, for a caller that holds the primary's lock or all locks, which keep the list
  // unchanged.
  [[nodiscard]] const std::vector<Shard*>& locked() const { return all_; }

  // Takes all locks, to change what shards share. No engine runs until unlock().
  void lock();
  void unlock();

  // The following are called without locks.
  //
  // Chooses the shard for a QP that uses these CQs and SRQs, and assigns all of them to it. If they
  // were assigned to different shards before, those shards are joined.
  [[nodiscard]] ShardId place(std::span<ShardChoice* const> parts, bool in_primary);
  void unplace(const ShardChoice& part);  // the CQ or SRQ is destroyed
  // Joins all shards. Needed by memory windows, which change shared objects from the data path.
  void join_all();
  // Called with `objects` held.
  [[nodiscard]] bool one_from_now_on() const { return one_from_now_on_; }
  // Returns when every shard has left the call that it was in, and no placement that began before
  // this call is still under way in this process's memory.
  void pass_through_all() const;

  // Makes the shard count in the table that other processes see (peers/statistics.h). Called before
  // its first device is opened, with `making` held.
  void publish(Shard& shard);
  // Null: there is no shared table.
  [[nodiscard]] Statistics* statistics() const { return statistics_; }

  // Takes all locks that it can before a fork, and releases them in the parent afterwards. The
  // child replaces them (leave()).
  void lock_for_fork();
  void unlock_after_fork();
  void leave();

  // Serialises creation and destruction of objects. Taken before the lock of any shard.
  Lock objects;
  // Serialises opening of devices and choice of shards. Taken before all other locks.
  std::mutex making;
  // Adapters are never deleted: QPNs continue where they were when a program closes a device and
  // opens it again, so that a late packet for an old QP cannot reach a new one. Guarded by
  // `making`.
  std::vector<std::shared_ptr<Adapter>> opened;
  // Used by the engines of all shards.
  const std::unique_ptr<GpuMemory> gpu_memory;
  const std::unique_ptr<const nic::Policy> policy;  // of learned congestion control

 private:
  [[nodiscard]] std::uint32_t limit() const;
  [[nodiscard]] ShardId least_loaded();
  [[nodiscard]] Shard* add();
  static void join(Shard& a, Shard& b);

  std::vector<Shard*> all_;  // the primary first; changed with all locks held
  bool one_from_now_on_{};
  std::atomic<Statistics*> statistics_{};  // for as long as the process lives
  bool tried_statistics_{};                // guarded by `making`
  bool objects_locked_for_fork_{};
  std::vector<Shard*> locked_for_fork_;
};

}  // namespace nerve::host
