// One device of this process: its engine, and the lock behind which the engine lives.
//
// All contexts that a program opens on a device share one adapter. A Session holds the lock; while
// it lives the engine may be called. What it leaves behind, frames to send and events to tell, is
// seen to before it ends: what the connection manager has to say leaves then.
#pragma once

#include <cstdint>
#include <memory>

#include "host/clock.h"
#include "host/device.h"
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
  void reach(const wire::Gid& peer, Qpn qpn);

  // One for the adapter; null for none any more, and then events wait for the next.
  void listen_cm(CmListener* listener);
  // As reach(), for datagrams of the connection manager: before a REQ or SIDR_REQ to this service,
  // and before anything is said to the process that gave out this id.
  void reach_service(const wire::Gid& peer, wire::ServiceId service);
  void reach_comm(const wire::Gid& peer, wire::CommId id);

  class Session;

  struct State;  // host/shared.h

 private:
  std::unique_ptr<State> state_;
};

class Adapter::Session {
 public:
  // What the session is for. A program that posts and polls is soon back, so answers to its peers
  // may wait for what it posts next; before anything else happens they are sent.
  enum class For : std::uint8_t { kWork, kControl };

  explicit Session(Adapter& adapter, For purpose = For::kControl);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  [[nodiscard]] nic::Nic& nic() const;
  nic::Nic* operator->() const { return &nic(); }

  // QPs were attached to multicast groups, or are not any more. Zero, or the errno of a group whose
  // packets cannot be had.
  int groups_changed();

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
  State& state_;
  const bool control_;
  bool crowded_{};
  bool give_way_{};
};

}  // namespace nerve::host
