// The shards of a process, and which of them an object belongs to.
//
// A shard is an engine of each device with a lock, a background thread, rings and sockets of its
// own (docs/host.md). A QP belongs to one for as long as it lives. CQs and SRQs are made before
// anybody knows with whom they will share QPs, so theirs is chosen when the first QP uses them.
#pragma once

#include <atomic>
#include <cstdint>

namespace nerve::host {

using ShardId = std::uint8_t;

inline constexpr ShardId kPrimaryShard = 0;  // it alone has the connection manager, and XRC
inline constexpr ShardId kMaxShards = 16;

// Of a CQ or SRQ. Changes once, with all shards' locks held.
class ShardChoice {
 public:
  [[nodiscard]] bool made() const { return shard_.load(std::memory_order_acquire) != kUndecided; }
  // The primary shard while there is no other choice.
  [[nodiscard]] ShardId shard() const {
    const ShardId shard = shard_.load(std::memory_order_acquire);
    return shard != kUndecided ? shard : kPrimaryShard;
  }
  void make(ShardId shard) { shard_.store(shard, std::memory_order_release); }

 private:
  static constexpr ShardId kUndecided = 0xff;
  std::atomic<ShardId> shard_{kUndecided};
};

}  // namespace nerve::host
