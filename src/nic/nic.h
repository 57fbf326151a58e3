// The RNIC: a complete RDMA protocol engine that knows no socket, clock or thread.
//
// Control calls make and change objects; work calls post and poll; five calls move time and
// frames. `now` is always an argument. The engine is not thread-safe: its driver serialises.
//
//   receive(burst, now)   frames that arrived
//   transmit(burst, now)  frames to send, as many as fit; call again while it fills the burst
//   next_deadline()       when expire() must be called if nothing else happens
//   expire(now)           timers that are due
//   next_event()          completion and asynchronous events, oldest first
//
// Siblings are engines of one device: each has its own QPs, and they share protection domains,
// memory, CQs, SRQs and address handles, whose handles are valid in all of them. A driver may call
// siblings from several threads at once, as long as
//
//   - one thread at a time makes, changes or ends objects, in the engine whose objects they are;
//     protection domains and memory regions may be made from outside of all;
//   - what others may be using is ended with all siblings at rest: address handles, and regions
//     that are registered again. A region is ended without that if it is revoked first, and every
//     sibling has returned from the call that it was in;
//   - siblings whose QPs use the same CQ or SRQ are not called at once;
//   - no memory window exists: work requests change those.
//
// A driver that has called receive() calls transmit() before it lets the application in again:
// an ACK or NAK that is owed dies with its QP, and the peer would wait in vain.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/time.h"
#include "nic/attributes.h"
#include "nic/burst.h"
#include "nic/config.h"
#include "nic/counters.h"
#include "nic/error.h"
#include "nic/event.h"
#include "nic/handles.h"
#include "nic/memory.h"
#include "nic/work.h"
#include "wire/frame.h"

namespace nerve::nic {

class ConnectionManager;

class Nic {
 public:
  explicit Nic(const NicConfig& config);
  Nic(const NicConfig& config, Nic& sibling);  // which must live longer
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  [[nodiscard]] const NicConfig& config() const;
  [[nodiscard]] const Counters& counters() const;

  // The port. A zero GID empties a table entry. Changes become events.
  Status set_gid(std::uint32_t index, const wire::Gid& gid);
  [[nodiscard]] Expected<wire::Gid> query_gid(std::uint32_t index) const;
  void set_port_active(bool active);
  [[nodiscard]] bool port_active() const;

  Expected<PdHandle> alloc_pd();
  Status dealloc_pd(PdHandle pd);
  Expected<MrHandle> register_mr(const MrInit& init);
  Status reregister_mr(MrHandle mr, MrChange change, const MrInit& init);
  Status revoke_mr(MrHandle mr);  // its keys give no access any more; see siblings above
  Status deregister_mr(MrHandle mr);
  [[nodiscard]] Expected<MrKeys> keys_of(MrHandle mr) const;
  Expected<MwHandle> alloc_mw(PdHandle pd, MwType type);
  Status dealloc_mw(MwHandle mw);
  [[nodiscard]] Expected<RKey> rkey_of(MwHandle mw) const;

  Expected<CqHandle> create_cq(const CqInit& init);
  Status resize_cq(CqHandle cq, std::uint32_t depth);
  Status moderate_cq(CqHandle cq, std::uint16_t count, Duration period);
  Status arm_cq(CqHandle cq, bool solicited_only);
  Status destroy_cq(CqHandle cq);

  Expected<XrcdHandle> alloc_xrcd();
  Status dealloc_xrcd(XrcdHandle xrcd);
  Expected<SrqHandle> create_srq(const SrqInit& init);
  Status set_srq_limit(SrqHandle srq, std::uint32_t limit);
  [[nodiscard]] Expected<SrqQuery> query_srq(SrqHandle srq) const;
  Status destroy_srq(SrqHandle srq);

  Expected<AhHandle> create_ah(PdHandle pd, const AddressVector& address);
  Status destroy_ah(AhHandle ah);

  Expected<QpHandle> create_qp(const QpInit& init);
  // `given` says which members of `attributes` are meant; `to` may equal the current state.
  Status modify_qp(QpHandle qp, QpState to, QpAttrs given, const QpAttributes& attributes);
  [[nodiscard]] Expected<QpQuery> query_qp(QpHandle qp) const;
  Status destroy_qp(QpHandle qp);
  // Whether completions of this QP wait to be polled; false when there is no such QP.
  [[nodiscard]] bool completions_wait(Qpn qpn) const;
  Status attach_mcast(QpHandle qp, const wire::Gid& group);
  Status detach_mcast(QpHandle qp, const wire::Gid& group);
  // Those that a QP is attached to, which the driver has to make arrive here.
  [[nodiscard]] std::vector<wire::Gid> multicast_groups() const;

  // Connects QPs to those of other hosts, by MADs on QP1; it has QP1 while no GSI QP exists.
  [[nodiscard]] ConnectionManager& cm();

  Status post_send(QpHandle qp, const SendWr& wr);
  // All of them or, if one is refused, none.
  Status post_sends(QpHandle qp, std::span<const SendWr> wrs);
  Status post_recv(QpHandle qp, const RecvWr& wr);
  Status post_srq_recv(SrqHandle srq, const RecvWr& wr);
  // Fills `out` from the front; returns how many.
  Expected<std::size_t> poll_cq(CqHandle cq, std::span<Completion> out);
  // How many completions wait on a CQ, for as long as it exists: what other threads may look at
  // while this one is at work. Null when there is no such CQ.
  [[nodiscard]] const std::atomic<std::uint32_t>* cq_gauge(CqHandle cq) const;
  // How many it would find; none when there is no such CQ.
  [[nodiscard]] std::uint32_t completions_waiting(CqHandle cq) const;

  void receive(std::span<const wire::Frame> frames, Time now);
  std::uint32_t transmit(TxBurst& burst, Time now);
  // Whether transmit() has a QP, or the connection manager, to ask.
  [[nodiscard]] bool wants_to_send() const;
  // All that it wants to send is one ACK.
  [[nodiscard]] bool owes_only_an_ack() const;
  // QPs that the gate refused (NicConfig::gate) wait for resume(): the driver calls it when a link
  // that was full has room again.
  [[nodiscard]] bool any_parked() const;
  void resume();
  [[nodiscard]] std::optional<Time> next_deadline();
  void expire(Time now);
  std::optional<Event> next_event();

  // Into the cache, for a driver of many engines that knows which is next: what its calls touch.
  // Each step follows what the one before has fetched, if that has had the time to come. A QPN of
  // zero stands for the QP whose turn to send, or whose timer, is next.
  enum class Fetch : std::uint8_t { kEngine, kQp, kWork };
  void fetch(Fetch step, Qpn qpn = {}) const;

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace nerve::nic
