// The RNIC: a complete RDMA protocol engine without sockets, clocks or threads.
//
// Control calls create and change objects; work calls post and poll; the calls below move time
// and frames. `now` is always an argument. The engine is not thread-safe: its driver serialises the
// calls.
//
//  receive(burst, now)   frames that arrived
//  transmit(burst, now)  frames to send, as many as fit; call again while it fills the burst
//  next_deadline()       when expire() must be called if nothing else happens
//  expire(now)           timers that are due
//  next_event()          completion and asynchronous events, oldest first
//  poll_memory(now)      continues what waited for late memory, while awaits_memory()
//
// Siblings are engines of one device. Each has its own QPs; they share protection domains, memory,
// CQs, SRQs and address handles, whose handles are valid in all of them. A driver may call siblings
// from several threads at once, under these conditions:
//
//  - One thread at a time creates, changes or destroys objects, in the engine that owns them.
//    Protection domains and memory regions may be created without holding any engine.
//  - Objects that siblings may be using (address handles, regions to be re-registered) are
//    destroyed or changed while all siblings are idle. A region may be deregistered without that
//    after it was revoked and every sibling has returned from the call it was in.
//  - Siblings whose QPs use the same CQ or SRQ are not called concurrently.
//  - No memory windows exist, because work requests change those.
//
// After receive(), a driver calls transmit() before it lets the application run again: a pending
// ACK or NAK is lost when its QP is destroyed, and the peer would wait for it in vain.
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
#include "nic/qp_glance.h"
#include "nic/work.h"
#include "wire/frame.h"

namespace nerve::nic {

class ConnectionManager;

class Nic {
 public:
  explicit Nic(const SharedConfig& config, const NicHooks& hooks = {});
  Nic(const SharedConfig& config, const NicHooks& hooks, Nic& sibling);  // which must outlive this
  ~Nic();
  Nic(const Nic&) = delete;
  Nic& operator=(const Nic&) = delete;

  [[nodiscard]] const NicConfig& config() const;
  [[nodiscard]] const Counters& counters() const;
  // A list of QPs for diagnostics, in the order of their places in the table, limited in length.
  // The time it takes grows with the number of QPs. The rates are those at `now`.
  [[nodiscard]] std::uint32_t qp_count() const;
  [[nodiscard]] std::vector<QpGlance> glance_at_qps(std::size_t limit, Time now) const;
  // None if there is no such QP.
  [[nodiscard]] std::optional<QpRoute> route_of(Qpn qpn) const;
  // The flows of connected QPs in RTR or RTS among `places` places of the table, the first of which
  // is `from`: a driver need not hold its lock while it lists all of them.
  [[nodiscard]] QpFlows list_flows(std::uint32_t from, std::uint32_t places) const;

  // The port. A zero GID clears a table entry. Changes raise events.
  Status set_gid(std::uint32_t index, const wire::Gid& gid);
  [[nodiscard]] Expected<wire::Gid> query_gid(std::uint32_t index) const;
  void set_port_active(bool active);
  [[nodiscard]] bool port_active() const;

  Expected<PdHandle> alloc_pd();
  Status dealloc_pd(PdHandle pd);
  Expected<MrHandle> register_mr(const MrInit& init);
  Status reregister_mr(MrHandle mr, MrChange change, const MrInit& init);
  Status revoke_mr(MrHandle mr);  // its keys grant no access from now on; see siblings above
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
  // `given` selects the members of `attributes` to use; `to` may equal the current state.
  Status modify_qp(QpHandle qp, QpState to, QpAttrs given, const QpAttributes& attributes);
  [[nodiscard]] Expected<QpQuery> query_qp(QpHandle qp) const;
  Status destroy_qp(QpHandle qp);
  // The next request of this connected QP begins a new flow: congestion control, pacing and CNPs
  // start as on a QP that was just connected, and packets get the UDP source port of this flow
  // label (20 bits; zero: derived from the two QPNs), which ECMP hashes. Sequence numbers go on.
  // Refused while requests are outstanding.
  Status restart_flow(QpHandle qp, std::uint32_t flow_label);
  // From now on packets of this connected QP have the UDP source port of this flow label, so that
  // ECMP may choose another path. Packets on the former path may be overtaken.
  Status redirect_flow(QpHandle qp, std::uint32_t flow_label);
  // The same with a source port, and a limit of its rate beside the program's own, of at least
  // kLeastSteeredRate. Returns whether it has another port now. Refused unless the QP is connected
  // with this peer.
  Expected<bool> steer_flow(Qpn qpn, Qpn peer, const FlowSteering& steering);
  // Whether the QP has completions that were not polled; false when there is no such QP.
  [[nodiscard]] bool completions_wait(Qpn qpn) const;
  Status attach_mcast(QpHandle qp, const wire::Gid& group);
  Status detach_mcast(QpHandle qp, const wire::Gid& group);
  // The groups that QPs are attached to; the driver must join them.
  [[nodiscard]] std::vector<wire::Gid> multicast_groups() const;

  // Connects QPs to those of other hosts, with MADs on QP1. It owns QP1 while no GSI QP exists.
  [[nodiscard]] ConnectionManager& cm();

  Status post_send(QpHandle qp, const SendWr& wr);
  // Posts all of them or, if one is invalid, none.
  Status post_sends(QpHandle qp, std::span<const SendWr> wrs);
  Status post_recv(QpHandle qp, const RecvWr& wr);
  Status post_srq_recv(SrqHandle srq, const RecvWr& wr);
  // Fills `out` from the front; returns the number of completions.
  Expected<std::size_t> poll_cq(CqHandle cq, std::span<Completion> out);
  // The number of completions waiting on a CQ, valid while the CQ exists. Other threads may read it
  // during calls into this engine. Null when there is no such CQ.
  [[nodiscard]] const std::atomic<std::uint32_t>* cq_gauge(CqHandle cq) const;
  // The number of completions that poll_cq() would find; zero when there is no such CQ.
  [[nodiscard]] std::uint32_t completions_waiting(CqHandle cq) const;

  void receive(std::span<const wire::Frame> frames, Time now);
  std::uint32_t transmit(TxBurst& burst, Time now);
  // Whether a QP or the connection manager may have something to send.
  [[nodiscard]] bool wants_to_send() const;
  // Whether all it has to send is one ACK.
  [[nodiscard]] bool owes_only_an_ack() const;
  // QPs that the gate refused (NicConfig::gate) wait for resume(), which the driver calls when a
  // full link has room again.
  [[nodiscard]] bool any_parked() const;
  void resume();
  [[nodiscard]] std::optional<Time> next_deadline();
  void expire(Time now);
  // Late memory (base/late_memory.h): whether QPs wait for it, and the call that lets them continue
  // if they can. The driver calls it often while they wait, and transmit() after it.
  [[nodiscard]] bool awaits_memory() const;
  void poll_memory(Time now);
  std::optional<Event> next_event();
  [[nodiscard]] bool any_event() const;

  // Prefetches the memory that the next calls will touch, for a driver of many engines that knows
  // which is next. Each step relies on memory that the previous one prefetched. An engine whose
  // next call is expire() needs less: the steps for that are the last four.
  enum class Fetch : std::uint8_t {
    kEngine,
    kWayToQp,  // for a packet only
    kQp,
    kWork,
    kTimers,
    kFirstTimer,
    kTimerQp,
    kTimerWork
  };
  // Of the QP that sends next, or whose timer expires next.
  void fetch(Fetch step) const;
  // Of the QP that a packet is for.
  void fetch(Fetch step, const wire::Bth& packet) const;
  // Of the two QPs that send next, for a driver that has just called transmit() and will do so
  // again soon.
  void fetch_senders() const;

 private:
  struct Modules;
  std::unique_ptr<Modules> modules_;
};

}  // namespace nerve::nic
