// One device of this process: its engines, one for each shard, and the locks that guard them.
//
// All contexts that a program opens on a device share one adapter. A Session holds the lock of one
// shard, or of all shards; the engine may be called only while a session exists. Before a session
// ends it sends pending CM datagrams and delivers pending events.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "host/devices/device.h"
#include "host/runtime/clock.h"
#include "host/shard_choice.h"
#include "nic/connection/cm_types.h"
#include "nic/nic.h"

namespace nerve::host {

class GpuMemory;
class Host;

// Receives events. The cookie of every object created in an adapter's engine is the address of an
// EventTarget, or zero for none. Port events go to every registered listener.
//
// Called with the shard's lock held, by whichever thread drives the engine: return quickly, and
// open no session.
class EventTarget {
 public:
  virtual ~EventTarget() = default;
  virtual void on_event(const nic::Event& event) = 0;
  [[nodiscard]] std::uint64_t cookie() { return reinterpret_cast<std::uint64_t>(this); }
};

// Receives the events of an adapter's connection manager. Called like EventTarget: with the lock
// held, by whichever thread drives the engine.
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

  // The device as it was when the adapter was opened. The engine has the current GIDs and port
  // state.
  [[nodiscard]] const Device& device() const;
  // The interface's current index in the kernel, or zero if the interface is gone. A different
  // index than before means that the interface was deleted and another one of the same name was
  // created.
  [[nodiscard]] std::uint32_t interface_index() const;
  // True if the interface has this address. An address that was added a moment ago, and of which
  // the background thread does not know yet, becomes a GID now. Called without a session.
  [[nodiscard]] bool has_address(const wire::Gid& gid);

  void listen(EventTarget& target);
  void unlisten(EventTarget& target);

  // Opens a path to this peer if there is none, which may take a moment the first time. Called
  // without a session, before a QP is connected to the peer or a datagram is posted to it. It never
  // fails: a peer that cannot be reached now may be reachable later.
  void reach(ShardId from, const wire::Gid& peer, Qpn qpn);

  // Chooses the shard for a QP that uses these CQs and SRQs, and assigns all of them to it. XRC and
  // GSI QPs need `in_primary`. Called without a session.
  [[nodiscard]] ShardId place(std::span<ShardChoice* const> parts, bool in_primary);
  void unplace(const ShardChoice& part);  // the CQ or SRQ was destroyed
  // True when another thread is working in the shard, so that a thread that polls an empty CQ can
  // let that thread drive the engine. False after many times in a row, and while CPUs are
  // contended: the other thread may have been preempted.
  [[nodiscard]] bool left_to_others(const ShardChoice& choice) const;
  // Memory windows change shared objects from the data path, so from now on all shards run as one.
  void join_shards();

  // The GPU memory of this process, for registration. Called without a session.
  [[nodiscard]] GpuMemory& gpu_memory() const;
  [[nodiscard]] bool gpu_direct() const;  // the setting of that name

  // Sets the adapter's only CM listener. With null, events queue up until the next listener is set.
  void listen_cm(CmListener* listener);
  // Like reach(), for CM datagrams: before a REQ or SIDR_REQ to this service, and before a message
  // to the process that allocated this communication id.
  void reach_service(const wire::Gid& peer, wire::ServiceId service);
  void reach_comm(const wire::Gid& peer, wire::CommId id);

  class Session;

  struct State;  // host/adapter_state.h

 private:
  // The states of shards other than the primary are created when a QP is first placed there.
  State& make_state(ShardId shard);
  [[nodiscard]] State& state(ShardId shard) const { return *states_[shard].load(); }

  std::array<std::atomic<State*>, kMaxShards> states_{};
  std::mutex making_;
};

class Adapter::Session {
 public:
  // What the session is for.
  //   kWork     to post and poll. The program is expected to call again soon, so acknowledgements
  //             may wait for its next post; a session of any other kind sends them first.
  //   kControl  to modify or query a QP, CQ or SRQ of the shard, or to use the connection manager
  //   kObjects  to create or destroy objects that the shard's engine uses; one thread at a time
  //   kMemory   to create protection domains and memory regions; one thread at a time, and
  //             engines keep running
  //   kAll      to change objects that other shards may be using; no engine of any shard runs
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

  // QPs were attached to or detached from multicast groups. Returns zero, or the errno of a group
  // that could not be joined.
  int groups_changed();

  // Access was revoked: when the session ends, it waits until all shards have left the calls they
  // were in.
  void let_users_leave() { users_leave_ = true; }

  // A connected QP has a new state: its packets may have to be sealed from now on, or not any more.
  void follow_seal(Qpn qpn, nic::QpState state);

  // Send work was posted. It is transmitted now if nothing else waits, otherwise together with
  // later posts.
  void posted();

  // Receives were posted, and a peer may be waiting for the credits. If a thread polls, the update
  // can wait.
  void posted_receives();

  // For a poll of a CQ without completions: true if there is nothing to send, to receive or to
  // time, which is so in most polls. Then the poll is over, and the session does nothing else.
  [[nodiscard]] bool idle();

  // A poll found completions at once.
  void polled();
  // A poll found completions after drive().
  void found_something();
  // A poll found nothing: the polling thread moves frames and runs timers, so that the background
  // thread need not.
  void drive();
  // A request of this QP failed because nothing answered. The completion alone ("transport retry
  // counter exceeded") has misled many, so the first time the addresses are logged, unless the peer
  // has answered before: then it has died, or is slow.
  void explain_no_answer(Qpn qpn) const;
  // The poll found nothing after drive() either. Returns true if the thread has slept, because CPUs
  // are contended, and should poll once more.
  [[nodiscard]] bool found_nothing(nic::CqHandle cq);

 private:
  static State& lock(Adapter& adapter, const ShardChoice& choice, For purpose);
  // Returns the effective purpose: once memory windows exist, kMemory becomes kObjects.
  static For lock(State& state, For purpose);
  [[gnu::noinline]] static For lock_for_control(State& state, For purpose);
  static void unlock(State& state, For purpose);
  [[gnu::noinline]] void begin_control();
  void deliver_events();
  // True if a session that posted or polled can just release the lock, as most can.
  [[nodiscard]] bool nothing_pending() const;
  [[gnu::noinline]] void end();
  void end_control();

  State& state_;
  const For purpose_;
  bool users_leave_{};
  bool posted_{};
  bool idle_{};
  bool crowded_{};
  bool give_way_{};
};

}  // namespace nerve::host
