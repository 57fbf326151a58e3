// All transports of this process: its ring to itself, the rings to and from other processes, and
// UDP.
//
// As an Egress it sends each frame over the right transport; as an EgressGate it grants frames
// according to the room there; and it receives from all transports. Guarded by the shard's lock.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "host/config/config.h"
#include "host/network/management.h"
#include "host/network/pace.h"
#include "host/network/socket_room.h"
#include "host/peers/membership.h"
#include "host/peers/rings.h"
#include "host/peers/statistics_layout.h"
#include "host/seal/seal_table.h"
#include "link/link.h"
#include "nic/flow_control/egress_gate.h"

namespace nerve::host {

class Exchange final : public link::Egress, public nic::EgressGate {
 public:
  Exchange(Transport transport, std::uint32_t own_slot);

  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;
  std::uint32_t grant(const Request& request) override;
  bool grant_acknowledge(const wire::Flow& flow, Qpn destination) override;
  [[nodiscard]] bool may_lose(const wire::Flow& flow, Qpn destination) const override;
  void give_back(std::uint32_t unused) override;
  // Receives from all transports. Frames that this process sent to itself go to `own`, the rest to
  // `others`.
  std::size_t receive(link::FrameSink& own, link::FrameSink& others, std::size_t budget, Time now);

  // Receives from an additional socket: the one for management datagrams, or the one for multicast.
  std::size_t receive_aside(link::Ingress& in, link::FrameSink& others, std::size_t budget,
                            Time now);

  // Starts a new burst: unused grants of the previous one expire.
  void begin_burst(Time now);

  // The slot of the process that a frame is for. All processes share QP1; a QP1 datagram for which
  // no other process is found is ours.
  [[nodiscard]] std::uint32_t slot_for(const wire::Frame& frame) const;
  // True while frames from UDP are being delivered; those may be for any process. A frame in a ring
  // was routed to us by its sender.
  [[nodiscard]] bool reads_network() const { return origin_ == kNetwork; }
  // Whether the frames being delivered may be for a QP with this peer. If the peer sends through
  // its ring, only that ring brings frames from it: packets from the network and from other
  // processes are forged. Otherwise they come from the network, perhaps forwarded by a process that
  // reads the same UDP socket.
  [[nodiscard]] bool may_come_from(const wire::Gid& peer, std::uint32_t slot) const;
  // The same for a datagram: `slot` is that of the QP that it names as its source.
  [[nodiscard]] bool may_come_from(std::uint32_t slot) const;
  // True if the frames being delivered need no such check: this process sent them, or there is no
  // ring.
  [[nodiscard]] bool need_no_check() const {
    return origin_ == own_slot_ || (origin_ == kNetwork && incoming_.empty());
  }

  // Forwards frames that arrived by UDP to the process they are for. If there is no ring to it, one
  // is requested: management datagrams wait for the ring, other frames are dropped.
  void forward(std::span<const wire::Frame> frames, Time now);
  // The slot is empty: datagrams that wait for its owner are delivered here, so that they are
  // answered.
  void deliver_waiting(std::uint32_t slot, link::FrameSink& own, Time now);
  // The slot has an owner, but no ring to it can be created: drops the datagrams that wait for it.
  void no_ring_to(std::uint32_t slot) { waiting_.forget(slot); }
  // No process has the slot, or none that accepts a ring: for a moment, frames that arrive for it
  // request no ring. Each request costs several system calls, and the frames come from anywhere.
  void remember_nobody(std::uint32_t slot, Time now) { nobody_since_[slot] = now; }
  [[nodiscard]] bool wants_ring() const { return wanted_.any(); }
  // Removes and returns a slot to which a ring is requested, in round-robin order.
  [[nodiscard]] std::optional<std::uint32_t> take_wanted();

  // Returns true once after a refused grant, when a transport may have room again, or its reader is
  // considered stuck.
  [[nodiscard]] bool room_again(Time now);
  // When there may be room again, if that depends on time only.
  [[nodiscard]] std::optional<Time> next_room() const;
  // True if frames wait in a ring: the last check before sleeping.
  [[nodiscard]] bool pending() const;
  // True if frames wait in our own ring.
  [[nodiscard]] bool own_pending() const { return own_ && own_->reader().pending(); }
  // True if receive() is worth the call: frames wait in a ring, or only a system call can tell.
  [[nodiscard]] bool worth_receiving() const { return pending() || udp_quiet_ < kQuietAfter; }

  // The kernel reports that the UDP socket is readable.
  void udp_arrived() { udp_quiet_ = 0; }

  // The ring to the process of a QP, or null.
  [[nodiscard]] OutgoingRing* ring_to(const wire::Gid& gid, Qpn qpn) const;
  // The rings of processes that may write to our memory directly.
  [[nodiscard]] std::span<const std::shared_ptr<IncomingRing>> placers() const;

  void set_local(std::vector<wire::Gid> gids) {
    local_ = std::move(gids);
    found_local_.reset();
  }
  [[nodiscard]] bool is_local(const wire::Gid& gid) const {
    return (found_local_ && *found_local_ == gid) || find_local(gid);
  }
  [[nodiscard]] std::span<const wire::Gid> local() const { return local_; }
  // True if there is a ring to the process that owns this slot now. A ring to an earlier owner
  // exists until its death is noticed.
  [[nodiscard]] bool has_ring_to(std::uint32_t slot) const;
  void set_own(std::unique_ptr<OwnRing> ring) { own_ = std::move(ring); }
  void set_ports(const PortSpace& ports) { ports_ = &ports; }
  void set_seals(SealTable& seals) { seals_ = &seals; }
  // `room` tracks the receive sockets of this host's processes.
  void set_udp(link::Egress& out, link::Ingress& in, SocketRoom& room) {
    udp_out_ = &out;
    udp_in_ = &in;
    room_ = &room;
  }
  // Returns false, and drops `ring`, if another ring to that process was agreed on meanwhile.
  [[nodiscard]] bool add(std::unique_ptr<OutgoingRing> ring, Time now);
  void add(std::shared_ptr<IncomingRing> ring);
  // The other end of a connection is gone: reads the frames that it had written before, ahead of
  // remove_connection().
  void drain(int connection, link::FrameSink& sink, Time now);
  // The same for all rings from this slot.
  void drain_slot(std::uint32_t slot, link::FrameSink& sink, Time now);
  // Removes the rings of a connection. Returns the slot if no ring leads to it any more; its
  // process may be dead.
  std::optional<std::uint32_t> remove_connection(int connection);

  // The rings and sockets belong to the parent process now (host.h): never touches them again.
  void leave();

  // Where to count frames from now on: those of the device that sends next.
  void count_in(ExchangeCounters& counters) { counters_ = &counters; }
  void stop_counting() { counters_ = &early_; }  // there
  // Frames before there was such a device.
  [[nodiscard]] const ExchangeCounters& early_counters() const { return early_; }
  // In rings and by UDP, of all devices.
  [[nodiscard]] std::uint64_t frames_sent() const { return frames_sent_; }

 private:
  // A socket that has been silent for this many receives is polled less often: polling costs a
  // system call, and a program that uses rings would pay it at every poll.
  static constexpr std::uint32_t kQuietAfter = 256;

  enum class Path : std::uint8_t { kNone, kRing, kUdp };
  struct Route {
    Path path{};
    link::shm::RingWriter* ring{};
    OutgoingRing* to{};  // the peer's ring; null for our own
  };
  // Where the frames being delivered come from: a slot's ring, or UDP.
  static constexpr std::uint32_t kNetwork = 0;  // no process has slot 0
  class Origin {
   public:
    Origin(Exchange& exchange, std::uint32_t slot) : origin_{exchange.origin_} { origin_ = slot; }
    ~Origin() { origin_ = kNobody; }
    Origin(const Origin&) = delete;
    Origin& operator=(const Origin&) = delete;

   private:
    std::uint32_t& origin_;
  };
  static constexpr std::uint32_t kNobody = kSlots;

  [[nodiscard]] bool sends_through_ring(const wire::Gid& gid, std::uint32_t slot) const;
  [[nodiscard]] bool reads_our_socket(std::uint32_t slot) const {
    return slot % kSocketGroup == own_slot_ % kSocketGroup;
  }
  void note_incoming();
  [[nodiscard]] Route route_to(const wire::Gid& gid, std::uint32_t slot) const;
  void send_run(std::span<const wire::Frame> frames, Time now);
  // By UDP, in the forms that its peer may know.
  void send_management(const wire::Frame& mad, Time now);
  // Requests a ring to the slot. Returns false if there cannot be one.
  bool want_ring(const wire::Gid& gid, std::uint32_t slot);
  [[nodiscard]] bool stuck(const OutgoingRing& ring) const;
  void forget_grants();
  std::uint32_t grant_unreliable(const Request& request);
  void sent_unreliable(std::span<const wire::Frame> frames, Time now);

  Transport transport_;
  std::uint32_t own_slot_;
  bool left_{};
  [[nodiscard]] bool find_local(const wire::Gid& gid) const;

  std::vector<wire::Gid> local_;
  mutable std::optional<wire::Gid> found_local_;  // the last one that was asked for and found
  std::unique_ptr<OwnRing> own_;
  std::vector<std::unique_ptr<OutgoingRing>> outgoing_;
  std::vector<OutgoingRing*> by_slot_;
  std::vector<std::shared_ptr<IncomingRing>> incoming_;
  std::bitset<kSlots> has_incoming_;  // slots with a ring to us
  const PortSpace* ports_{};
  SealTable* seals_{};  // null: nothing is sealed
  WaitingMads waiting_;
  std::uint32_t origin_{kNobody};
  link::Egress* udp_out_{};
  link::Ingress* udp_in_{};
  std::uint32_t udp_quiet_{kQuietAfter};  // receives since the last UDP traffic, in or out
  std::uint32_t next_incoming_{};
  std::bitset<kSlots> wanted_;  // slots to which a ring is requested
  std::uint32_t last_wanted_{};
  std::vector<std::optional<Time>> nobody_since_;  // for each slot
  std::vector<link::shm::RingWriter*> granted_;    // in this burst
  link::shm::RingWriter* last_granted_{};  // by the last grant; null if it was not for a ring
  Time burst_began_{};
  Pace pace_;
  SocketRoom* room_{};
  bool granted_by_room_{};  // by the last grant
  bool refused_{};          // a QP waits for room
  bool ring_gone_{};        // ... perhaps in a ring that was removed
  ExchangeCounters early_;
  ExchangeCounters* counters_{&early_};
  std::uint64_t frames_sent_{};
};

}  // namespace nerve::host
