#include "nic/nic.h"

#include <algorithm>

#include "base/fetch_lines.h"
#include "nic/nic_modules.h"
#include "nic/qp_context/qp_trace.h"
#include "nic/wqe_engine/post_send.h"

namespace nerve::nic {

void Nic::Modules::trace_memory(TraceStep step, std::uint64_t address, std::uint64_t length) const {
  if (core.trace == nullptr) return;
  constexpr std::uint64_t kMost = 0xffff'ffff;
  core.trace->add(
      {.id = address, .bytes = static_cast<std::uint32_t>(std::min(length, kMost)), .step = step});
}

bool Nic::Modules::trace_receive(const RecvWr& wr, Qpn qpn) const {
  if (core.trace->of(qpn.value()).receives++ >= core.trace->messages()) return false;
  std::uint32_t bytes = 0;
  for (const Sge& sge : wr.sges) bytes += sge.length;
  core.trace->add(
      {.id = wr.wr_id, .qpn = qpn.value(), .bytes = bytes, .step = TraceStep::kPostReceive});
  return true;
}

Expected<std::size_t> Nic::Modules::traced_poll(CqHandle cq, std::span<Completion> out) {
  const Expected<std::size_t> taken = cqs.poll(cq, out);
  if (!taken) return taken;
  for (const Completion& completion : out.first(*taken)) {
    if (Qp* qp = qps.find(completion.qpn)) trace_poll(*core.trace, *qp, completion);
  }
  return taken;
}

// The gate refused the QP's frames but may have room for the ACK or NAK that the QP has pending.
// Acknowledgements are let through because the peer may be stalled until it gets one.
void Nic::Modules::transmit_acknowledge(Qp& qp, TxBurst& burst) {
  bool owes = true;
  if (qp.responder.owes_acknowledge() && answers.transmit(qp, burst, 0) == Answers::Turn::kDone) {
    while (owes && !burst.full() && core.gate->grant_acknowledge(qp.flow, qp.peer)) {
      owes = answers.acknowledge(qp, burst);
    }
  }
  if (!owes && !qp.has_to_send()) {
    core.scheduler.sleep(qp);
  } else if (owes && qp.responder.sack_due && burst.full()) {
    core.scheduler.rotate(qp);
  } else {
    core.scheduler.park(qp);
  }
}

Nic::Nic(const SharedConfig& config, const NicHooks& hooks)
    : modules_{std::make_unique<Modules>(config, hooks, nullptr)} {}
Nic::Nic(const SharedConfig& config, const NicHooks& hooks, Nic& sibling)
    : modules_{std::make_unique<Modules>(config, hooks, &sibling.modules_->objects)} {}
Nic::~Nic() = default;

const NicConfig& Nic::config() const { return modules_->core.config; }
const Counters& Nic::counters() const { return modules_->core.counters; }

std::uint32_t Nic::qp_count() const { return modules_->qps.size(); }

std::vector<QpGlance> Nic::glance_at_qps(std::size_t limit, Time now) const {
  std::vector<QpGlance> glances;
  modules_->qps.for_each([&](const Qp& qp) {
    if (glances.size() >= limit) return;
    QpGlance glance;
    glance.qpn = qp.qpn;
    glance.type = qp.type;
    glance.state = qp.state;
    if (qp.connected() && qp.can_receive()) {
      glance.peer = qp.peer;
      glance.destination = qp.flow.destination;
    }
    if (qp.congestion) {
      qp.congestion->catch_up(now);
      glance.rate = qp.congestion->rate();
    }
    glances.push_back(glance);
  });
  return glances;
}

std::optional<QpRoute> Nic::route_of(Qpn qpn) const {
  const Qp* const qp = modules_->qps.find(qpn);
  if (qp == nullptr) return std::nullopt;
  return QpRoute{.source = qp->flow.source,
                 .destination = qp->flow.destination,
                 .peer = qp->connected() ? qp->peer : Qpn{},
                 .answered = qp->requester.unacked != qp->attributes.sq_psn};
}

QpFlows Nic::list_flows(std::uint32_t from, std::uint32_t places) const {
  QpFlows listed;
  listed.next = modules_->qps.for_some(from, places, [&](const Qp& qp) {
    if (!qp.connected() || !qp.can_receive()) return;  // in RTR it sends ACKs
    listed.flows.push_back({.qpn = qp.qpn,
                            .peer = qp.peer,
                            .flow = qp.flow,
                            .bytes_sent = qp.bytes_sent,
                            .packets_retransmitted = qp.packets_retransmitted});
  });
  return listed;
}

Status Nic::set_gid(std::uint32_t index, const wire::Gid& gid) {
  return modules_->port.set_gid(index, gid);
}
Expected<wire::Gid> Nic::query_gid(std::uint32_t index) const { return modules_->port.gid(index); }
void Nic::set_port_active(bool active) { modules_->port.set_active(active); }
bool Nic::port_active() const { return modules_->port.active(); }

Expected<PdHandle> Nic::alloc_pd() { return modules_->core.dma.alloc_pd(); }
Status Nic::dealloc_pd(PdHandle pd) { return modules_->core.dma.dealloc_pd(pd); }
Expected<MrHandle> Nic::register_mr(const MrInit& init) {
  Expected<MrHandle> made = modules_->core.dma.register_region(init);
  if (made) modules_->trace_memory(TraceStep::kRegister, init.address, init.length);
  return made;
}
Status Nic::reregister_mr(MrHandle mr, MrChange change, const MrInit& init) {
  return modules_->core.dma.reregister(mr, change, init);
}
Status Nic::revoke_mr(MrHandle mr) { return modules_->core.dma.revoke(mr); }
Status Nic::deregister_mr(MrHandle mr) {
  Status done = modules_->core.dma.deregister(mr);
  if (done) modules_->trace_memory(TraceStep::kDeregister, 0, 0);
  return done;
}
Expected<MrKeys> Nic::keys_of(MrHandle mr) const { return modules_->core.dma.keys_of(mr); }
Expected<MwHandle> Nic::alloc_mw(PdHandle pd, MwType type) {
  return modules_->core.dma.alloc_window(pd, type);
}
Status Nic::dealloc_mw(MwHandle mw) { return modules_->core.dma.dealloc_window(mw); }
Expected<RKey> Nic::rkey_of(MwHandle mw) const { return modules_->core.dma.rkey_of(mw); }

Expected<CqHandle> Nic::create_cq(const CqInit& init) { return modules_->cqs.create(init); }
Status Nic::resize_cq(CqHandle cq, std::uint32_t depth) { return modules_->cqs.resize(cq, depth); }
Status Nic::moderate_cq(CqHandle cq, std::uint16_t count, Duration period) {
  return modules_->cqs.moderate(cq, count, period);
}
Status Nic::arm_cq(CqHandle cq, bool solicited_only) {
  return modules_->cqs.arm(cq, solicited_only);
}
Status Nic::destroy_cq(CqHandle cq) { return modules_->cqs.destroy(cq); }

Expected<XrcdHandle> Nic::alloc_xrcd() { return modules_->qp_manager.alloc_xrcd(); }
Status Nic::dealloc_xrcd(XrcdHandle xrcd) { return modules_->qp_manager.dealloc_xrcd(xrcd); }
Expected<SrqHandle> Nic::create_srq(const SrqInit& init) {
  return modules_->qp_manager.create_srq(init);
}
Status Nic::set_srq_limit(SrqHandle srq, std::uint32_t limit) {
  return modules_->qp_manager.set_srq_limit(srq, limit);
}
Expected<SrqQuery> Nic::query_srq(SrqHandle srq) const {
  return modules_->qp_manager.query_srq(srq);
}
Status Nic::destroy_srq(SrqHandle srq) { return modules_->qp_manager.destroy_srq(srq); }
Expected<AhHandle> Nic::create_ah(PdHandle pd, const AddressVector& address) {
  return modules_->qp_manager.create_ah(pd, address);
}
Status Nic::destroy_ah(AhHandle ah) { return modules_->qp_manager.destroy_ah(ah); }

Expected<QpHandle> Nic::create_qp(const QpInit& init) { return modules_->qp_manager.create(init); }
Status Nic::modify_qp(QpHandle qp, QpState to, QpAttrs given, const QpAttributes& attributes) {
  return modules_->qp_manager.modify(qp, to, given, attributes);
}
Expected<QpQuery> Nic::query_qp(QpHandle handle) const {
  Expected<QpQuery> query = modules_->qp_manager.query(handle);
  if (!query) return query;
  Qp& qp = *modules_->qps.find(handle);
  if (qp.can_send()) query->sends = modules_->requester.progress(qp);
  return query;
}
Status Nic::destroy_qp(QpHandle qp) { return modules_->qp_manager.destroy(qp); }
Status Nic::redirect_flow(QpHandle qp, std::uint32_t flow_label) {
  return modules_->qp_manager.redirect_flow(qp, flow_label);
}
Expected<bool> Nic::steer_flow(Qpn qpn, Qpn peer, const FlowSteering& steering) {
  return modules_->qp_manager.steer_flow(qpn, peer, steering);
}
Status Nic::restart_flow(QpHandle qp, std::uint32_t flow_label) {
  return modules_->qp_manager.restart_flow(qp, flow_label);
}
bool Nic::completions_wait(Qpn qpn) const { return modules_->qp_manager.completions_wait(qpn); }

Status Nic::attach_mcast(QpHandle handle, const wire::Gid& group) {
  Qp* qp = modules_->qps.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "attach: no such QP");
  return modules_->groups.attach(*qp, group);
}
Status Nic::detach_mcast(QpHandle handle, const wire::Gid& group) {
  Qp* qp = modules_->qps.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "detach: no such QP");
  return modules_->groups.detach(*qp, group);
}
std::vector<wire::Gid> Nic::multicast_groups() const { return modules_->groups.list(); }

ConnectionManager& Nic::cm() { return modules_->cm.get(); }

Status Nic::post_send(QpHandle handle, const SendWr& wr) {
  return post_sends(handle, std::span{&wr, 1});
}

Status Nic::post_sends(QpHandle handle, std::span<const SendWr> wrs) {
  Qp* qp = modules_->qps.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "post send: no such QP");
  const std::uint32_t before = qp->sends.tail;
  for (const SendWr& wr : wrs) {
    if (const Status taken = enqueue_send(*qp, wr, modules_->core.config.limits); !taken) {
      qp->sends.tail = before;
      return taken;
    }
  }
  if (traces_sends(modules_->core.trace, *qp)) [[unlikely]] {
    trace_posts(*modules_->core.trace, *qp, before);
  }
  if (qp->state == QpState::kErr || qp->state == QpState::kSqe) {
    modules_->completions.flush_sends(*qp);
  } else {
    modules_->core.scheduler.wake(*qp);
  }
  return Done{};
}

Status Nic::post_recv(QpHandle handle, const RecvWr& wr) {
  Qp* qp = modules_->qps.find(handle);
  if (qp == nullptr) return refuse(ErrorCode::kNoSuchObject, "post receive: no such QP");
  if (qp->srq != nullptr) return refuse(ErrorCode::kInvalid, "post receive: the QP has an SRQ");
  if (qp->state == QpState::kReset) {
    return refuse(ErrorCode::kInvalid, "post receive: the QP is in reset");
  }
  if (const Status fits = qp->receives.check(wr); !fits) return fits;
  qp->receives.post(wr);
  if (traces_receives(modules_->core.trace, *qp)) [[unlikely]] {
    qp->trace_over.receives = !modules_->trace_receive(wr, qp->qpn);
  }
  if (qp->state == QpState::kErr) {
    modules_->completions.flush_receives(*qp);
  } else if (Answers::owes_credit_update(*qp)) {
    qp->responder.ack_due = true;
    modules_->core.scheduler.wake(*qp);
  }
  return Done{};
}

Status Nic::post_srq_recv(SrqHandle handle, const RecvWr& wr) {
  Srq* srq = modules_->objects.srqs.find(handle);
  if (srq == nullptr) return refuse(ErrorCode::kNoSuchObject, "post receive: no such SRQ");
  if (const Status fits = srq->queue.check(wr); !fits) return fits;
  srq->queue.post(wr);
  if (modules_->core.trace != nullptr) [[unlikely]] {
    (void)modules_->trace_receive(wr, Qpn{});
  }
  return Done{};
}

const std::atomic<std::uint32_t>* Nic::cq_gauge(CqHandle cq) const {
  const Cq* const found = modules_->cqs.find(cq);
  return found != nullptr ? &found->gauge : nullptr;
}

Expected<std::size_t> Nic::poll_cq(CqHandle cq, std::span<Completion> out) {
  if (modules_->core.trace != nullptr && modules_->core.trace->awaits_polls()) [[unlikely]]
    return modules_->traced_poll(cq, out);
  return modules_->cqs.poll(cq, out);
}

std::uint32_t Nic::completions_waiting(CqHandle cq) const {
  const Cq* found = modules_->cqs.find(cq);
  return found != nullptr ? found->waiting() : 0;
}

void Nic::receive(std::span<const wire::Frame> frames, Time now) {
  modules_->core.now = now;
  modules_->rx_handler.receive(frames);
}

// Fills one burst: every ready QP gets a turn of at most `scheduling_quantum` responses and as many
// requests, so that a bulk transfer delays the others by a bounded number of frames. A QP that has
// more to send goes to the back of the queue; one that is blocked leaves it until an answer, a
// timer or resume() wakes it. Frames refer to memory that was checked in this call, so the burst
// must be sent before the next one.
std::uint32_t Nic::transmit(TxBurst& burst, Time now) {
  Modules& m = *modules_;
  CHECK(burst.max_pieces_per_frame() >= m.core.config.limits.max_sge);
  m.core.now = now;
  if (burst.fetched()) [[unlikely]]
    m.core.late_memory->release(&m.core);
  burst.clear();
  // Management datagrams go first: they are rare and short, and whole connections wait for them.
  // They bypass the gate; one that finds no room is lost and retransmitted. On a port that is down
  // this only passes the time to the connection manager.
  if (m.cm.wants_to_send()) m.cm.get().transmit(burst, now);
  if (!m.port.active()) return 0;
  m.requester.begin_call();
  while (Qp* qp = m.core.scheduler.next()) {
    if (burst.full()) break;
    // Within a turn, READ responses and atomic results go first, because the peer waits for them. A
    // long READ response must leave room for requests, or the QP could not send its own before the
    // response is complete. The ACK goes last: it only completes a finished request, while a
    // request, often the reply to the message that the ACK is for, starts new work.
    const std::uint32_t quantum = m.core.config.scheduling_quantum;
    std::uint32_t granted = 2 * quantum;  // a quantum of responses and one of requests
    const bool gated = m.core.gate != nullptr && qp->connected();
    if (gated) {
      granted = m.core.gate->grant({.flow = qp->flow,
                                    .destination = qp->peer,
                                    .reliable = qp->reliable(),
                                    .frames = granted});
      if (granted == 0) {
        m.transmit_acknowledge(*qp, burst);
        continue;
      }
    }
    const std::uint32_t first = burst.size();
    const bool both = !qp->sends.all_sent();
    const std::uint32_t share = std::max(1U, std::min({quantum, burst.room() / 2, granted / 2}));
    const Answers::Turn answered =
        m.answers.transmit(*qp, burst, both ? share : std::min(quantum, granted));
    const std::uint32_t used = burst.size() - first + (qp->responder.owes_acknowledge() ? 1 : 0);
    const std::uint32_t left = granted - std::min(granted, used);
    const bool clipped = granted < 2 * quantum;
    const bool more = m.requester.transmit(*qp, burst, std::min(quantum, left), clipped);
    bool owes = answered == Answers::Turn::kMore;
    if (answered == Answers::Turn::kDone) owes = m.answers.acknowledge(*qp, burst);
    if (gated) m.core.gate->give_back(granted - std::min(granted, burst.size() - first));
    // The turn may have ended with an error, which removes the QP from the queue.
    if (owes || (more && !m.requester.fetches())) {
      m.core.scheduler.rotate(*qp);
    } else {
      m.core.scheduler.sleep(*qp);
    }
    if (m.requester.paused()) break;
  }
  if (m.core.trace != nullptr) [[unlikely]]
    m.core.trace->packets_sent();
  return burst.size();
}

bool Nic::wants_to_send() const {
  return modules_->core.scheduler.next() != nullptr || modules_->cm.wants_to_send();
}
bool Nic::owes_only_an_ack() const {
  const Qp* const qp = modules_->core.scheduler.only();
  return qp != nullptr && qp->responder.owes_only_an_ack() && qp->sends.all_sent() &&
         !modules_->cm.wants_to_send();
}
bool Nic::any_parked() const { return modules_->core.scheduler.any_parked(); }
void Nic::resume() { modules_->core.scheduler.resume(); }

std::optional<Time> Nic::next_deadline() {
  std::optional<Time> earliest = modules_->core.scheduler.next_deadline();
  const auto consider = [&](std::optional<Time> other) {
    if (other && (!earliest || *other < *earliest)) earliest = other;
  };
  consider(modules_->cqs.next_deadline());
  consider(modules_->cm.next_deadline());
  if (modules_->core.scheduler.next_without_credit() != nullptr) {
    consider(modules_->granter.next_deadline());
  }
  return earliest;
}

void Nic::expire(Time now) {
  modules_->core.now = now;
  while (Qp* qp = modules_->core.scheduler.pop_expired(now)) modules_->completer.on_timer(*qp);
  if (modules_->core.scheduler.next_without_credit() != nullptr) modules_->granter.expire();
  modules_->cqs.expire(now);
  modules_->cm.expire(now);
}

bool Nic::awaits_memory() const {
  return modules_->core.scheduler.next_awaiting_memory() != nullptr;
}
void Nic::poll_memory(Time now) {
  Modules& m = *modules_;
  m.core.now = now;
  const Landing* first_again = nullptr;  // of those that wait on, at the back of the list
  for (Landing* landing = m.core.scheduler.next_awaiting_memory();
       landing != nullptr && landing != first_again;
       landing = m.core.scheduler.next_awaiting_memory()) {
    Qp& qp = landing->owner;
    m.core.scheduler.stop_awaiting_memory(*landing);
    m.completions.release_landed(qp);
    m.core.scheduler.wake(qp);
    if (first_again == nullptr && landing->hook.linked) first_again = landing;
  }
}

std::optional<Event> Nic::next_event() { return modules_->events.pop(); }
bool Nic::any_event() const { return !modules_->events.empty(); }

void Nic::Modules::fetch_for_timer(Fetch step) const {
  if (step == Fetch::kTimers) return fetch_timers();
  if (step == Fetch::kFirstTimer) return core.scheduler.fetch_timers();
  const Qp* const qp = core.scheduler.next_timer();
  if (qp == nullptr) return;
  if (step == Fetch::kTimerQp) {
    fetch_line(qp);
    fetch_lines(&qp->requester, &qp->congestion + 1);
    return fetch_line(&qp->repeat);
  }
  if (!qp->requester.pace_at) {
    if (qp->congestion) qp->congestion->fetch();
    return;
  }
  fetch();  // it will send
  qp->fetch_to_send();
  qp->fetch_work();
}

void Nic::fetch(Fetch step) const {
  const Modules& m = *modules_;
  if (step == Fetch::kEngine) return m.fetch();
  if (step >= Fetch::kTimers) return m.fetch_for_timer(step);
  const Qp* qp = m.core.scheduler.next();
  if (qp == nullptr) qp = m.core.scheduler.next_timer();
  if (step == Fetch::kQp) m.core.scheduler.fetch_timers();
  if (qp == nullptr) return;
  if (step == Fetch::kQp) return qp->fetch_to_send();
  qp->fetch_work();
  if (const Qp* const second = qp->ready_hook.next) second->fetch_to_send();
}

void Nic::fetch(Fetch step, const wire::Bth& packet) const {
  const Modules& m = *modules_;
  if (step == Fetch::kEngine) return m.fetch();
  if (step == Fetch::kWayToQp) return m.qps.fetch_way_to(packet.dest_qp);
  const Qp* const qp = m.qps.place_of(packet.dest_qp);
  if (qp == nullptr) return;
  const wire::OpcodeInfo* const info = wire::find_opcode(packet.opcode);
  const bool request = info != nullptr && info->role == wire::Role::kRequest;
  if (step == Fetch::kWork) {
    if (!request) return qp->fetch_work();
    return fetch_lines(qp->recv_cq, qp->recv_cq + 1);  // it may complete a message
  }
  m.core.scheduler.fetch_timers();
  if (request) return qp->fetch_for_request();
  qp->fetch_for_answer();
}

void Nic::fetch_senders() const {
  const Qp* const next = modules_->core.scheduler.next();
  if (next == nullptr) return;
  next->fetch_work();
  if (const Qp* const second = next->ready_hook.next) second->fetch_to_send();
}

}  // namespace nerve::nic
