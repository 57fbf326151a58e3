// The shards of a process: how they are made, chosen, joined and locked together.
//
// It lives for as long as the process, as the shards do.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "host/runtime/lock.h"
#include "host/shard_choice.h"

namespace nerve::host {

class Adapter;
class Shard;

class ShardSet {
 public:
  explicit ShardSet(Shard& primary) : all_{&primary} {}
  ShardSet(const ShardSet&) = delete;
  ShardSet& operator=(const ShardSet&) = delete;

  [[nodiscard]] Shard& primary() const { return *all_.front(); }
  // As they are now. Takes the primary's lock.
  [[nodiscard]] std::vector<Shard*> all() const;
  // With a lock that keeps the list as it is: the primary's, or all.
  [[nodiscard]] const std::vector<Shard*>& locked() const { return all_; }

  // All locks: for what shards share to be changed, while no engine runs.
  void lock();
  void unlock();

  // The others are called without locks.
  // Where a QP belongs that uses these CQs and SRQs, for all of which it is then decided. Where
  // different shards were chosen for them before, those become one from now on.
  [[nodiscard]] ShardId place(std::span<ShardChoice* const> parts, bool in_primary);
  void unplace(const ShardChoice& part);  // it is no more
  // For what changes shared objects from within a data path: memory windows.
  void join_all();
  // With `objects` held.
  [[nodiscard]] bool one_from_now_on() const { return one_from_now_on_; }
  // When this returns, every shard has left the calls that it was in, and no placement that began
  // before is under way in this process's memory.
  void pass_through_all() const;

  // Before a fork, all locks that can be had; after it, in the parent, they are released. The child
  // leaves them.
  void lock_for_fork();
  void unlock_after_fork();
  void leave();

  // One thread at a time makes or ends objects. Taken before the lock of any shard.
  Lock objects;
  // One thread at a time opens devices and chooses shards. Taken before all others.
  std::mutex making;
  // Kept for good: numbers of QPs go on where they were when a program closes a device and opens it
  // again, or a late packet for the old QP could find the new one. Guarded by `making`.
  std::vector<std::shared_ptr<Adapter>> opened;

 private:
  [[nodiscard]] std::uint32_t limit() const;
  [[nodiscard]] ShardId least_loaded();
  [[nodiscard]] Shard* add();
  static void join(Shard& a, Shard& b);

  std::vector<Shard*> all_;  // the primary first. Changed with all locks held
  bool one_from_now_on_{};
  bool objects_locked_for_fork_{};
  std::vector<Shard*> locked_for_fork_;
};

}  // namespace nerve::host
