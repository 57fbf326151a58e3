// Shards, and which of them an object belongs to.
//
// A shard is one engine per device with its own lock, background thread, rings and sockets
// (docs/host.md). A QP belongs to one shard for life. CQs and SRQs are created before it is known
// which QPs will use them, so their shard is chosen when the first QP does.
#pragma once

#include <atomic>
#include <cstdint>

namespace nerve::host {

using ShardId = std::uint8_t;

inline constexpr ShardId kPrimaryShard = 0;  // the only one with the connection manager and XRC
inline constexpr ShardId kMaxShards = 16;

// The shard of a CQ or SRQ. Changes once, while the locks of all shards are held.
class ShardChoice {
 public:
  [[nodiscard]] bool made() const { return shard_.load(std::memory_order_acquire) != kUndecided; }
  // The primary shard until the choice is made.
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
