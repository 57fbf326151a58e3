// One device of this process: its engines, one for each shard, and the locks behind which they
// live.
//
// All contexts that a program opens on a device share one adapter. A Session holds the lock of a
// shard, or of all; while it lives the engine may be called. What it leaves behind, frames to send
// and events to tell, is seen to before it ends: what the connection manager has to say leaves
// then.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "host/clock.h"
#include "host/device.h"
#include "host/shard_choice.h"
#include "nic/connection/cm_types.h"
#include "nic/nic.h"

namespace nerve::host {

class Host;

// Who is told of events. The cookie of every object made in an adapter's engine is the address of
// one of these, or zero for none. Events of the port go to all that listen.
//
// Called with the lock held, by whichever thread drives: be quick, and open no session.
class EventTarget {
 public:
  virtual ~EventTarget() = default;
  virtual void on_event(const nic::Event& event) = 0;
  [[nodiscard]] std::uint64_t cookie() { return reinterpret_cast<std::uint64_t>(this); }
};

// Who is told what the connection manager of an adapter has to say. As above: with the lock held,
// by whichever thread drives.
class CmListener {
 public:
  virtual ~CmListener() = default;
  virtual void on_cm_event(nic::Nic& nic, const nic::CmEvent& event) = 0;
};

class Adapter {
 public:
  Adapter(Host& host, const Device& device);
  ~Adapter();
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  // As it was when the adapter was opened; what changes since (GIDs, the port) the engine knows.
  [[nodiscard]] const Device& device() const;
  // The number that the kernel has for its interface now; zero when that is gone. Another number
  // than before: it was gone, and one of the same name has come.
  [[nodiscard]] std::uint32_t interface_index() const;

  void listen(EventTarget& target);
  void unlisten(EventTarget& target);

  // Makes sure that there is a way to this peer, which may take a moment the first time. Called
  // without a session, before a QP is told of the peer or a datagram is posted to it. What cannot
  // be reached now may be later, so nothing is refused here.
  void reach(ShardId from, const wire::Gid& peer, Qpn qpn);

  // Where a QP belongs that uses these CQs and SRQs; chosen for all of them. `in_primary`: for XRC
  // and GSI. Called without a session.
  [[nodiscard]] ShardId place(std::span<ShardChoice* const> parts, bool in_primary);
  void unplace(const ShardChoice& part);  // the CQ or SRQ was destroyed
  // Whether another thread is at work in the shard, so that one that polls an empty CQ can leave it
  // to that thread to drive the engine. Not many times in a row, and not on a busy machine: there
  // the other thread may have lost its CPU.
  [[nodiscard]] bool left_to_others(const ShardChoice& choice) const;
  // Memory windows change shared objects from the data path: from now on there is one shard.
  void join_shards();

  // One for the adapter; null for none any more, and then events wait for the next.
  void listen_cm(CmListener* listener);
  // As reach(), for datagrams of the connection manager: before a REQ or SIDR_REQ to this service,
  // and before anything is said to the process that gave out this id.
  void reach_service(const wire::Gid& peer, wire::ServiceId service);
  void reach_comm(const wire::Gid& peer, wire::CommId id);

  class Session;

  struct State;  // host/shared.h

 private:
  // Those in shards other than the primary one are made when a QP is first placed there.
  State& make_state(ShardId shard);
  [[nodiscard]] State& state(ShardId shard) const { return *states_[shard].load(); }

  std::array<std::atomic<State*>, kMaxShards> states_{};
  std::mutex making_;
};

class Adapter::Session {
 public:
  // What the session is for.
  //   kWork     to post and poll. The program is soon back, so answers to its peers may wait for
  //             what it posts next; before anything else happens they are sent.
  //   kControl  to change or ask a QP, CQ or SRQ of the shard, or the connection manager
  //   kObjects  to make or end objects that the shard's engine uses: one thread at a time
  //   kMemory   to make protection domains and memory regions, likewise; engines run meanwhile
  //   kAll      to change what other shards may be using: no engine of any shard runs meanwhile
  enum class For : std::uint8_t { kWork, kControl, kObjects, kMemory, kAll };

  explicit Session(Adapter& adapter, For purpose = For::kAll)
      : Session{adapter, kPrimaryShard, purpose} {}
  Session(Adapter& adapter, ShardId shard, For purpose);
  Session(Adapter& adapter, const ShardChoice& choice, For purpose);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] nic::Nic& nic() const;
  nic::Nic* operator->() const { return &nic(); }

  // QPs were attached to multicast groups, or are not any more. Zero, or the errno of a group whose
  // packets cannot be had.
  int groups_changed();

  // Something was revoked: the session ends when all shards have left the calls that they were in.
  void let_users_leave() { users_leave_ = true; }

  // Work was posted. It leaves now if the wire is quiet, else together with what comes next.
  void posted();

  // Receives were posted, which a peer may be waiting to hear. If somebody polls it can wait.
  void posted_receives();

  // A program polls, and there was something for it.
  void polled();
  // ... after drive(), not at once.
  void found_something();
  // A program polls in vain: frames and time are moved by its thread, so that nobody else has to.
  void drive();
  // ... and found nothing then either. True when the thread has slept, because CPUs are contended,
  // and should look once more.
  [[nodiscard]] bool found_nothing(nic::CqHandle cq);

 private:
  static State& lock(Adapter& adapter, const ShardChoice& choice, For purpose);
  // Returns what it is for in the end: where windows exist, memory is made as objects are.
  static For lock(State& state, For purpose);
  static void unlock(State& state, For purpose);
  void begin();
  void tell_events();
  void end_control();

  State& state_;
  const For purpose_;
  bool users_leave_{};
  bool posted_{};
  bool crowded_{};
  bool give_way_{};
};

}  // namespace nerve::host
