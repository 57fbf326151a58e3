// Completion queues and their channels.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "host/adapter.h"
#include "host/runtime/event_queue.h"
#include "nic/handles.h"
#include "nic/work.h"
#include "verbs/api.h"
#include "verbs/context.h"

namespace nerve::verbs {

struct VerbsCq;

struct VerbsChannel {
  ibv_comp_channel channel{};
  host::EventQueue<VerbsCq*> events;
  std::atomic<host::ShardId> armed_in{};  // the shard of the CQ that was armed last
};

struct CqEvents final : host::EventTarget {
  explicit CqEvents(VerbsCq& cq) : owner{cq} {}
  void on_event(const nic::Event& event) override;
  VerbsCq& owner;
};

struct VerbsCq {
  ibv_cq_ex ex{};  // begins like an ibv_cq
  host::Adapter* adapter{};
  nic::CqHandle handle{};
  const std::atomic<std::uint32_t>* waiting{};  // number of completions
  host::ShardChoice shard;
  CqEvents events{*this};
  std::uint32_t channel_reported{};  // events that the program fetched; guarded by the channel
  std::uint32_t async_reported{};
  // Between start_poll and end_poll: the completion that the readers return.
  nic::Completion current{};
  Time newest{};  // timestamp of the latest completion read
  // Relative to CLOCK_MONOTONIC, which stamps completions.
  std::chrono::nanoseconds wall_clock_ahead{};
  bool single_threaded{};
  std::mutex polling;

  // Exact while the caller holds a session.
  [[nodiscard]] bool empty() const { return waiting->load(std::memory_order_acquire) == 0; }
  // True if a poll can return empty without waiting for the lock.
  [[nodiscard]] bool left_to_others() const { return empty() && adapter->left_to_others(shard); }
  // For a poll of an empty CQ: drives the engine. True if the CQ has completions then.
  [[nodiscard]] bool drive(Session& session) const;

  [[nodiscard]] ibv_cq* base() { return reinterpret_cast<ibv_cq*>(&ex); }
};

inline VerbsChannel& ours(ibv_comp_channel* channel) {
  return *reinterpret_cast<VerbsChannel*>(channel);
}
inline VerbsCq& ours(ibv_cq* cq) { return *reinterpret_cast<VerbsCq*>(cq); }
inline VerbsCq& ours(ibv_cq_ex* cq) { return *reinterpret_cast<VerbsCq*>(cq); }

// Sets the readers and the polling calls of an extended CQ (cq_ex.cc).
void set_readers(ibv_cq_ex& cq, std::uint64_t wc_flags);

[[nodiscard]] ibv_wc_opcode opcode_of(nic::WcOpcode opcode);
[[nodiscard]] unsigned flags_of(nic::WcFlags flags);
// The immediate in network byte order, or the rkey that was invalidated.
[[nodiscard]] std::uint32_t immediate_of(const nic::Completion& completion);

int poll_cq(ibv_cq* cq, int count, ibv_wc* out) noexcept;
int req_notify_cq(ibv_cq* cq, int solicited_only) noexcept;
int modify_cq(ibv_cq* cq, ibv_modify_cq_attr* attr) noexcept;
ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* attr) noexcept;

}  // namespace nerve::verbs
