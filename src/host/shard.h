// A shard: one engine per device, with its own lock, background thread, rings, sockets and timers
// (docs/host.md). To peers a shard looks like a process.
//
// Frames come in through the exchange and go to the engines; frames that the engines send leave
// through the taps and the exchange.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "host/adapter_state.h"
#include "host/config/config.h"
#include "host/diagnostics/taps.h"
#include "host/diagnostics/trace_file.h"
#include "host/host.h"
#include "host/network/exchange.h"
#include "host/network/network.h"
#include "host/peers/meetings.h"
#include "host/peers/membership.h"
#include "host/peers/peer_memory.h"
#include "host/peers/statistics.h"
#include "host/runtime/delayed_ack.h"
#include "host/runtime/lock.h"
#include "host/runtime/polling.h"
#include "host/runtime/process_memory.h"
#include "host/runtime/watcher.h"
#include "host/seal/seal_table.h"
#include "host/shard_choice.h"
#include "host/shard_set.h"

namespace nerve::host {

// Tries to take the lock for 100 ms. Gives up then, because a thread that ended while holding the
// lock never releases it.
[[nodiscard]] bool try_long(Lock& lock);

class Shard final : public link::FrameSink, public Watched {
 public:
  // `primary` is the process's first shard, or null to create that one. Returns null, with errno,
  // if there are no slots, descriptors or memory left.
  [[nodiscard]] static std::unique_ptr<Shard> make(Shard* primary);

  // Passes frames to the engines that own their destination addresses, and forwards frames that are
  // for other processes.
  void deliver(std::span<const wire::Frame> frames, Time at) override;

  // Does everything that is due: receives frames, runs timers, sends frames.
  bool drive(Time at) override;
  // The steps of drive().
  std::size_t take_in(Time at);
  void expire(Time at);
  void transmit(Time at);
  [[nodiscard]] std::optional<Time> next_wake() override;
  [[nodiscard]] bool anything_pending() override { return exchange.pending() || anything_unsent(); }
  // True also while QPs wait for late memory, which nothing but the next call looks at.
  [[nodiscard]] bool anything_unsent();
  [[nodiscard]] bool anything_parked() override;
  // Frames received since the last transmit.
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }

  // The time when the clock was last read, for callers that need no exact time.
  [[nodiscard]] Time lately() const { return looked_at_; }
  Time look_at_clock() { return looked_at_ = now(); }

  // True if a thread is awake that will send pending frames.
  [[nodiscard]] bool is_driven() const { return !watcher.asleep() && !polling.waiters.listens(); }
  void wake(const PollWaiters::Woken& woken) const;  // preferably without the lock

  // The calls of the background thread.
  [[nodiscard]] bool a_poll_listens() const override { return polling.waiters.listens(); }
  [[nodiscard]] bool cpus_contended() override { return polling.look_for_contention(looked_at_); }
  void falls_asleep() override { taps->flush(); }
  void socket_readable() override { exchange.udp_arrived(); }
  void aside_readable(int fd) override;
  void connection_closed(int connection) override { meetings.connection_closed(connection); }
  TakenCall take_call(int listener) override { return meetings.take_call(listener); }
  void offer_wanted() override { meetings.offer_wanted(); }
  void addresses_changed() override;

  // Takes over the current addresses of the interfaces.
  void read_addresses();

  // Called at process exit: sends pending frames, disconnects connections, and writes out the
  // capture.
  void finish();
  // Called in the child of a fork(): from now on the shard sends and receives nothing.
  void leave_to_parent();

  [[nodiscard]] bool is_primary() const { return &shards.primary() == this; }
  [[nodiscard]] nic::Trace* trace() const {
    return trace_file != nullptr ? &trace_file->trace() : nullptr;
  }
  [[nodiscard]] bool leads() const { return leader == this; }

 private:
  Shard(Config settings, Membership joined, Mailbox mailbox, Shard* first);
  [[nodiscard]] bool is_for_us(const wire::Frame& frame) const;
  // Passes frames to the engine, except those that did not come by the path that the QP's peer
  // uses, or that are not sealed although they must be.
  void pass_to(Adapter::State& adapter, std::span<const wire::Frame> frames, Time at);
  [[nodiscard]] bool may_enter(const Adapter::State& adapter, const wire::Frame& frame);
  [[nodiscard]] bool came_by_its_path(const Adapter::State& adapter,
                                      const wire::Frame& frame) const;
  [[nodiscard]] link::PcapSink::Origins origins() const;
  [[nodiscard]] bool owes_only_an_ack() const;
  // True if the only frame left to send is an ACK that waits for the program's next post.
  [[nodiscard]] bool ack_waits(Time at) const;
  // Waits until peers on other hosts have answered our DREQs, because nothing retransmits them
  // after this process has exited. Releases the lock while waiting; returns false if it cannot be
  // taken again.
  [[nodiscard]] bool wait_for_disconnects();

  std::unique_ptr<ShardSet> own_set_;  // only in the primary
  Descriptor slot_lock_;               // in the private folder
  std::mutex reading_addresses_;       // taken before `lock`
  Time looked_at_{};
  std::size_t unanswered_{};

 public:
  const Config config;
  const std::uint32_t slot;
  ShardSet& shards;  // including this one
  ShardId index{};
  // Joined shards share one lock, the leader's, and are driven together.
  Shard* leader{this};
  std::vector<Shard*> members{this};  // only in a leader
  std::uint32_t cqs{};  // CQs and SRQs that belong to this shard; guarded by ShardSet::making
  Lock lock;
  std::shared_ptr<const SealSetup> seal_setup;  // of all shards
  SealTable seals;
  Exchange exchange;
  std::unique_ptr<TraceFile> trace_file;  // null: nothing is traced
  std::optional<Taps> taps;
  std::vector<Adapter::State*> adapters;
  Watcher watcher;
  PeerMemory peer_memory;
  ProcessPager pager;
  Network network;
  Meetings meetings;
  Polling polling;
  DelayedAck delayed_ack;
  std::atomic<DeviceListener*> device_listener{};
  SlotEntry* statistics{};  // where its devices count; null: for themselves
  bool left_to_parent{};
};

}  // namespace nerve::host
