// Every way in and out of this process: its own ring, the rings of other processes, UDP.
//
// As an Egress it sorts frames by where they go; as a gate it says for which of them there is room;
// and it collects from everywhere. Behind the host's lock.
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
#include "link/link.h"
#include "nic/flow_control/egress_gate.h"

namespace nerve::host {

struct ExchangeCounters {
  std::uint64_t unreachable{};  // frames that had no way to go
  std::uint64_t forwarded{};    // arrived here by UDP for another process
  std::uint64_t shm_frames{};
  std::uint64_t shm_bytes{};
  std::uint64_t udp_frames{};
  std::uint64_t udp_bytes{};
  [[nodiscard]] std::uint64_t frames() const { return shm_frames + udp_frames; }
  ExchangeCounters& operator+=(const ExchangeCounters& other) {
    unreachable += other.unreachable;
    forwarded += other.forwarded;
    shm_frames += other.shm_frames;
    shm_bytes += other.shm_bytes;
    udp_frames += other.udp_frames;
    udp_bytes += other.udp_bytes;
    return *this;
  }
};

class Exchange final : public link::Egress, public nic::EgressGate {
 public:
  Exchange(Transport transport, std::uint32_t own_slot);

  void send(std::span<const wire::Frame> frames, Time now) override;
  void send_bytes(const wire::Flow& flow, Bytes udp_payload, Time now) override;
  std::uint32_t grant(const Request& request) override;
  bool grant_acknowledge(const wire::Flow& flow, Qpn destination) override;
  [[nodiscard]] bool may_lose(const wire::Flow& flow, Qpn destination) const override;
  void give_back(std::uint32_t unused) override;
  // Frames from everywhere: those that this process sent to itself through its ring, and others.
  std::size_t receive(link::FrameSink& own, link::FrameSink& others, std::size_t budget, Time now);

  // Frames from a socket beside the one that most come to: management's, or that for multicast.
  std::size_t receive_aside(link::Ingress& in, link::FrameSink& others, std::size_t budget,
                            Time now);

  // What was granted before and not used is free again: a new burst begins.
  void begin_burst(Time now);

  // The slot of the process that a frame is for. QP1 is everybody's: what nobody else is found for
  // there is ours.
  [[nodiscard]] std::uint32_t slot_for(const wire::Frame& frame) const;
  // Whether what is being delivered comes from UDP, where any process may get it. What comes by a
  // ring was put there by one who had looked whose it is.
  [[nodiscard]] bool reads_network() const { return reads_network_; }

  // Passes frames that came by UDP on to the process they are for. Where no ring leads there, one
  // is wanted: datagrams of management wait for it, the rest is lost.
  void forward(std::span<const wire::Frame> frames, Time now);
  // There is nobody in that slot: what waits for him is delivered here, to be answered.
  void nobody_in(std::uint32_t slot, link::FrameSink& own, Time now);
  // There is somebody, but no ring is to be had.
  void no_ring_to(std::uint32_t slot) { waiting_.forget(slot); }
  [[nodiscard]] bool wants_ring() const { return wanted_.any(); }
  // A slot to which a ring is wanted, each in its turn; it is not wanted any more then.
  [[nodiscard]] std::optional<std::uint32_t> take_wanted();

  // True once when a way that refused a grant may have room again, or is not waited for any more.
  [[nodiscard]] bool room_again(Time now);
  // When that may be, if time alone makes room.
  [[nodiscard]] std::optional<Time> next_room() const;
  // Whether anything waits in a ring: the last look before sleeping.
  [[nodiscard]] bool pending() const;
  // Whether any of it is from ourselves.
  [[nodiscard]] bool own_pending() const { return own_ && own_->reader().pending(); }
  // Whether receive() is worth the call: also when only a system call would tell.
  [[nodiscard]] bool worth_receiving() const { return pending() || udp_quiet_ < kQuietAfter; }

  // Something waits at the UDP socket, says the kernel.
  void udp_arrived() { udp_quiet_ = 0; }

  // The ring that leads to a QP of another process, if one does.
  [[nodiscard]] OutgoingRing* ring_to(const wire::Gid& gid, Qpn qpn) const;
  // The rings of processes that may place bytes in our memory.
  [[nodiscard]] std::span<const std::shared_ptr<IncomingRing>> placers() const;

  void set_local(std::vector<wire::Gid> gids) { local_ = std::move(gids); }
  [[nodiscard]] bool is_local(const wire::Gid& gid) const;
  [[nodiscard]] std::span<const wire::Gid> local() const { return local_; }
  // Whether a ring leads to the process that is in this slot now: that to an earlier one is still
  // there until its end is noticed.
  [[nodiscard]] bool has_ring_to(std::uint32_t slot) const;
  void set_own(std::unique_ptr<OwnRing> ring) { own_ = std::move(ring); }
  void set_ports(const PortSpace& ports) { ports_ = &ports; }
  // `room` is that of the sockets of this host's processes.
  void set_udp(link::Egress& out, link::Ingress& in, SocketRoom& room) {
    udp_out_ = &out;
    udp_in_ = &in;
    room_ = &room;
  }
  // False when there is one to that process already, agreed on meanwhile: then this one goes.
  [[nodiscard]] bool add(std::unique_ptr<OutgoingRing> ring, Time now);
  void add(std::shared_ptr<IncomingRing> ring);
  // The other end of a connection is gone. What it had written before is read first: drain().
  void drain(int connection, link::FrameSink& sink, Time now);
  // Likewise, all that came from this slot.
  void drain_slot(std::uint32_t slot, link::FrameSink& sink, Time now);
  // The slot to which no ring leads any more, if that was the last; the process may be dead.
  std::optional<std::uint32_t> hang_up(int connection);

  // The rings and sockets are another process's now (host.h): none of them is touched again.
  void leave();

  [[nodiscard]] const ExchangeCounters& counters() const { return counters_; }

 private:
  // A socket that has been silent for a while is asked less often: asking costs a system call, and
  // a program that talks through rings would pay it at every poll.
  static constexpr std::uint32_t kQuietAfter = 256;

  enum class Way : std::uint8_t { kNone, kRing, kUdp };
  struct Route {
    Way way{};
    link::shm::RingWriter* ring{};
    OutgoingRing* to{};  // whose ring it is; null for our own
  };
  [[nodiscard]] Route route_to(const wire::Gid& gid, std::uint32_t slot) const;
  void send_run(std::span<const wire::Frame> frames, Time now);
  // True when it may come, sooner or later.
  bool want_ring(const wire::Gid& gid, std::uint32_t slot);
  [[nodiscard]] bool stuck(const OutgoingRing& ring) const;
  void forget_grants();
  std::uint32_t grant_unreliable(const Request& request);
  void sent_unreliable(std::span<const wire::Frame> frames, Time now);

  Transport transport_;
  std::uint32_t own_slot_;
  bool left_{};
  std::vector<wire::Gid> local_;
  std::unique_ptr<OwnRing> own_;
  std::vector<std::unique_ptr<OutgoingRing>> outgoing_;
  std::vector<OutgoingRing*> by_slot_;
  std::vector<std::shared_ptr<IncomingRing>> incoming_;
  const PortSpace* ports_{};
  WaitingMads waiting_;
  bool reads_network_{};
  link::Egress* udp_out_{};
  link::Ingress* udp_in_{};
  std::uint32_t udp_quiet_{
      kQuietAfter};  // receives since UDP last brought something or was sent to
  std::uint32_t next_incoming_{};
  std::bitset<kSlots> wanted_;  // rings to forward through, or that were not had when asked for
  std::uint32_t last_wanted_{};
  std::vector<link::shm::RingWriter*> granted_;  // for this burst
  link::shm::RingWriter* last_granted_{};        // by the last grant; none when it was not a ring
  Time burst_began_{};
  Pace pace_;
  SocketRoom* room_{};
  bool granted_by_room_{};  // the last grant
  bool refused_{};          // somebody waits for room
  bool ring_gone_{};        // ... perhaps in a ring that is no more
  ExchangeCounters counters_;
};

}  // namespace nerve::host
