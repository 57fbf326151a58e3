// What the adapters of a process have in common, behind the one lock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/config.h"
#include "host/contention.h"
#include "host/crowd.h"
#include "host/delayed_ack.h"
#include "host/exchange.h"
#include "host/host.h"
#include "host/lock.h"
#include "host/membership.h"
#include "host/neighbour_memory.h"
#include "host/poll_waiters.h"
#include "host/port_space.h"
#include "host/shard_choice.h"
#include "host/taps.h"
#include "host/udp_port.h"
#include "host/watcher.h"

namespace nerve::host {

// A descriptor to let go of when there is no other left and somebody must be told so.
[[nodiscard]] Descriptor open_spare();

struct JoinedGroup {
  wire::Gid group{};
  std::uint32_t interface {};
  friend bool operator==(const JoinedGroup&, const JoinedGroup&) = default;
};

[[nodiscard]] bool try_long(Lock& lock);

// All locks: for what shards share to be changed, while no engine runs.
void lock_all(Host::Shared& any);
void unlock_all(Host::Shared& any);

struct Host::Shared final : link::FrameSink, Watched {
  // `first` is the process's primary shard; null: this becomes it.
  Shared(Config settings, Membership joined, Mailbox mailbox, Shared* first);

  // Frames to the engines whose addresses they bear; those of other processes go on to them.
  void deliver(std::span<const wire::Frame> frames, Time at) override;
  [[nodiscard]] bool is_for_us(const wire::Frame& frame) const;
  [[nodiscard]] link::PcapSink::Origins origins() const;

  bool drive(Time at) override;
  // The parts of it: frames in, deadlines met, frames out.
  std::size_t take_in(Time at);
  void expire(Time at);
  // For a thread of the program's that polls: drives when there is a reason to. True when the
  // thread is to give way to others if the poll finds nothing for it.
  bool poll();
  // For a thread that has polled in vain for a while: sleeps until something completes on a CQ that
  // it polls, or for kLongestWait. Releases the lock meanwhile.
  void wait_in_poll(EmptyPolls& polls);
  // The part of it that is for one thread at a time: sleeps until frames come, and takes them in.
  void listen_for_frames(PollWaiters::Waiter& self, Duration at_most);
  void wake(const PollWaiters::Woken& woken) const;  // best without the lock
  void look_at_machine(Time at);
  void transmit(Time at);
  [[nodiscard]] bool owes_only_an_ack() const;
  // Whether all that is left to send is an ACK that waits for what the program posts next.
  [[nodiscard]] bool ack_waits(Time at) const;
  // The time of the last look at the clock, for those who can do with a little less than now.
  [[nodiscard]] Time lately() const { return looked_at; }
  [[nodiscard]] std::optional<Time> next_wake() override;
  [[nodiscard]] bool anything_pending() override { return exchange.pending() || anything_unsent(); }
  [[nodiscard]] bool anything_unsent();
  [[nodiscard]] bool anything_parked() override;
  [[nodiscard]] bool a_poll_listens() const override { return poll_waiters.listens(); }
  // Whether a thread is awake that will send what is left to it.
  [[nodiscard]] bool is_driven() const { return !watcher.asleep() && !poll_waiters.listens(); }
  void falls_asleep() override { taps->flush(); }
  [[nodiscard]] bool cpus_contended() override;
  void socket_readable() override { exchange.udp_arrived(); }
  void management_readable() override;
  // The process ends: what was captured reaches the file, and the summary the person.
  void finish();
  // Peers on other hosts hear that we part: there is no kernel to say it again when we are gone.
  // Lets go of the lock meanwhile; false when it cannot be had again.
  [[nodiscard]] bool wait_for_partings();
  // Takes the lock, unless somebody who ended in the middle of something will never give it back.
  [[nodiscard]] bool try_long() { return host::try_long(lock); }
  // This is the child of a fork: from here on nothing moves, whatever is called.
  void leave_to_parent();
  void hang_up(int connection) override;
  bool take_call(int listener) override;
  void offer_wanted() override;
  // `owner`: the process that had the slot, where that is known. If it has gone, nobody_in()
  // follows.
  void offer_ring(std::uint32_t to, std::optional<pid_t> owner = std::nullopt);
  // True when the connection is one over which a ring was offered: the answer is here.
  bool conclude_offer(int connection);
  // The slot's owner died: answer its pending requests, drop its connections.
  void nobody_in(std::uint32_t empty);
  void answer_call(Descriptor connection);
  bool refuse_call(int listener);  // true when the caller knows
  void addresses_changed() override;
  void tell_interfaces(const std::vector<Interface>& interfaces);  // to UDP, if there is any

  // Joins and leaves multicast groups as the adapters' QPs do. Zero, or the errno of one that could
  // not be joined.
  int follow_groups();

  // All of these without the lock: they may wait for another process.
  void reach(const wire::Gid& peer, Qpn qpn);
  void reach_service(const wire::Gid& peer, wire::ServiceId service);
  void reach_comm(const wire::Gid& peer, wire::CommId id);
  void reach_slot(const wire::Gid& peer, std::uint32_t to, bool by_ring);
  void open_udp();
  // Null, and errno, when the table of ports cannot be had.
  [[nodiscard]] PortSpace* use_cm();
  void open_ring(std::uint32_t to);
  [[nodiscard]] const char* why_no_udp() const;  // when there is none

  // Shards (shards.cc). The calls are made without locks.
  // Where a QP belongs that uses these CQs and SRQs, for all of which it is then decided. Where
  // different shards were chosen for them before, those become one from now on.
  [[nodiscard]] ShardId place(std::span<ShardChoice* const> parts, bool in_primary);
  void unplace(const ShardChoice& part);  // it is no more
  // For what changes shared objects from within a data path: memory windows.
  void join_all_shards();
  // When this returns, every shard has left the calls that it was in, and no placement that began
  // before is under way in this process's memory. Without locks.
  void pass_through_all();
  [[nodiscard]] bool leads() const { return leader == this; }
  [[nodiscard]] std::uint32_t most_shards() const;
  [[nodiscard]] ShardId least_loaded();
  [[nodiscard]] Shared* add_shard();
  void join_shards(Shared& a, Shared& b);

  const Config config;
  const std::uint32_t slot;
  Shared* const primary;
  ShardId index{};
  std::vector<Shared*> shards;  // of the primary: all. Changed with all locks held
  // Shards that were joined have one lock, that of their leader, and are driven together.
  Shared* leader{this};
  std::vector<Shared*> members{this};  // of a leader
  std::uint32_t cqs{};           // and SRQs that belong here; guarded by the primary's `making`
  bool one_shard_from_now_on{};  // of the primary
  Lock lock;
  // Of the primary: one thread at a time makes or ends objects. Taken before `lock`.
  Lock objects;
  Exchange exchange;
  std::optional<Taps> taps;
  std::vector<Adapter::State*> adapters;
  std::vector<RingOffer> offers;  // not answered yet
  Descriptor spare{open_spare()};
  bool told_of_refusal{};
  Watcher watcher;
  NeighbourMemory neighbours;
  std::unique_ptr<UdpPort> udp;
  std::unique_ptr<PortSpace> ports;  // once this process uses the CM
  std::string udp_refused;           // why there is no UDP, when there is none
  std::vector<JoinedGroup> joined_groups;
  std::atomic<DeviceListener*> device_listener{};

  bool locked_for_fork{};
  bool objects_locked_for_fork{};
  bool left_to_parent{};

  Crowd crowd;
  Contention contention;
  PollWaiters poll_waiters;
  DelayedAck delayed_ack;
  // At the last look: polls that find nothing should sleep. Also read without the lock.
  std::atomic<bool> busy{};
  std::uint32_t idle_polls{};
  std::uint32_t fruitful_polls{};
  Time looked_at{};
  std::size_t unanswered{};  // frames taken in since something could last be sent

  std::mutex making;  // adapters, rings and sockets; taken before `lock`, never after
  // Kept for good: numbers of QPs go on where they were when a program closes a device and opens it
  // again, or a late packet for the old QP could find the new one.
  std::vector<std::shared_ptr<Adapter>> opened;
};

// As they are now.
[[nodiscard]] std::vector<Host::Shared*> shards_of(Host::Shared& any);

struct Adapter::State {
  // `first` is the adapter's in the primary shard; null: this becomes it.
  State(Host::Shared& host, const Device& given, State* first);
  ~State();

  [[nodiscard]] bool owns(const wire::Gid& gid) const;
  // Takes over what has changed of the interface; none: it is gone.
  void update(const Interface* changed);
  void follow(const State& other);  // has the same addresses from now on
  void transmit(Time at);
  void tell_events();
  void tell_cm_events();

  Host::Shared& shared;
  const Device device;            // as it was opened
  std::vector<wire::Gid> gids;    // as they are now
  std::uint32_t interface_index;  // likewise; zero: it is gone
  const bool by_short_cut;        // peers may act on its memory (nic/short_cut.h)
  nic::Nic nic;
  nic::TxBurst burst{256};
  std::vector<EventTarget*> listeners;
  CmListener* cm_listener{};
  std::uint32_t waiting_posts{};  // since something was last sent
};

}  // namespace nerve::host
