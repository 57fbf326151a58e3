// A shard: an engine of each device, with a lock, a background thread, rings, sockets and timers of
// its own (docs/host.md). To peers it looks like a process.
//
// This is where its parts meet: frames come in through the exchange, go to the engines, and what
// these have to send leaves through the taps and the exchange.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "host/adapter_state.h"
#include "host/config/config.h"
#include "host/diagnostics/taps.h"
#include "host/host.h"
#include "host/network/exchange.h"
#include "host/network/network.h"
#include "host/peers/meetings.h"
#include "host/peers/membership.h"
#include "host/peers/peer_memory.h"
#include "host/runtime/delayed_ack.h"
#include "host/runtime/lock.h"
#include "host/runtime/polling.h"
#include "host/runtime/watcher.h"
#include "host/shard_choice.h"
#include "host/shard_set.h"

namespace nerve::host {

// Takes the lock, unless somebody who ended in the middle of something will never give it back.
[[nodiscard]] bool try_long(Lock& lock);

class Shard final : public link::FrameSink, public Watched {
 public:
  // `primary` is the process's first shard; null: this becomes it. Null, and errno, when there are
  // no slots, descriptors or memory left.
  [[nodiscard]] static std::unique_ptr<Shard> make(Shard* primary);

  // Frames to the engines whose addresses they bear; those of other processes go on to them.
  void deliver(std::span<const wire::Frame> frames, Time at) override;

  // All that there is to do: frames in, deadlines met, frames out.
  bool drive(Time at) override;
  // The parts of it.
  std::size_t take_in(Time at);
  void expire(Time at);
  void transmit(Time at);
  [[nodiscard]] std::optional<Time> next_wake() override;
  [[nodiscard]] bool anything_pending() override { return exchange.pending() || anything_unsent(); }
  [[nodiscard]] bool anything_unsent();
  [[nodiscard]] bool anything_parked() override;
  // Frames taken in since something could last be sent.
  [[nodiscard]] std::size_t unanswered() const { return unanswered_; }

  // The time of the last look at the clock, for those who can do with a little less than now.
  [[nodiscard]] Time lately() const { return looked_at_; }
  Time look_at_clock() { return looked_at_ = now(); }

  // Whether a thread is awake that will send what is left to it.
  [[nodiscard]] bool is_driven() const { return !watcher.asleep() && !polling.waiters.listens(); }
  void wake(const PollWaiters::Woken& woken) const;  // best without the lock

  // What the background thread tells of.
  [[nodiscard]] bool a_poll_listens() const override { return polling.waiters.listens(); }
  [[nodiscard]] bool cpus_contended() override { return polling.look_for_contention(looked_at_); }
  void falls_asleep() override { taps->flush(); }
  void socket_readable() override { exchange.udp_arrived(); }
  void aside_readable(int fd) override;
  void hang_up(int connection) override { meetings.hang_up(connection); }
  bool take_call(int listener) override { return meetings.take_call(listener); }
  void offer_wanted() override { meetings.offer_wanted(); }
  void addresses_changed() override;

  // The process ends: what was captured reaches the file, and connections are ended.
  void finish();
  // This is the child of a fork: from here on nothing moves, whatever is called.
  void leave_to_parent();

  [[nodiscard]] bool is_primary() const { return &shards.primary() == this; }
  [[nodiscard]] bool leads() const { return leader == this; }

 private:
  Shard(Config settings, Membership joined, Mailbox mailbox, Shard* first);
  [[nodiscard]] bool is_for_us(const wire::Frame& frame) const;
  [[nodiscard]] link::PcapSink::Origins origins() const;
  [[nodiscard]] bool owes_only_an_ack() const;
  // Whether all that is left to send is an ACK that waits for what the program posts next.
  [[nodiscard]] bool ack_waits(Time at) const;
  // Peers on other hosts hear that we part: there is no kernel to say it again when we are gone.
  // Lets go of the lock meanwhile; false when it cannot be had again.
  [[nodiscard]] bool wait_for_partings();

  std::unique_ptr<ShardSet> own_set_;  // of the primary
  Time looked_at_{};
  std::size_t unanswered_{};

 public:
  const Config config;
  const std::uint32_t slot;
  ShardSet& shards;  // this one among them
  ShardId index{};
  // Shards that were joined have one lock, that of their leader, and are driven together.
  Shard* leader{this};
  std::vector<Shard*> members{this};  // of a leader
  std::uint32_t cqs{};                // and SRQs that belong here; guarded by ShardSet::making
  Lock lock;
  Exchange exchange;
  std::optional<Taps> taps;
  std::vector<Adapter::State*> adapters;
  Watcher watcher;
  PeerMemory peer_memory;
  Network network;
  Meetings meetings;
  Polling polling;
  DelayedAck delayed_ack;
  std::atomic<DeviceListener*> device_listener{};
  bool left_to_parent{};
};

}  // namespace nerve::host
