#include "tests/dst/host.h"

#include <algorithm>
#include <array>
#include <utility>

namespace nerve::dst {

using nic::Access;

Host::Host(std::size_t index, const nic::NicConfig& config, const nic::NicHooks& hooks,
           nic::Nic* sibling, LateStore* late, const wire::Gid& gid, Habits habits,
           std::uint64_t seed, std::size_t zone_size, EventQueue& events, Network& network,
           Journal& journal)
    : index_{index},
      gid_{gid},
      habits_{habits},
      prng_{seed},
      events_{events},
      network_{network},
      journal_{journal},
      late_{late},
      nic_{sibling != nullptr ? nic::Nic{config, hooks, *sibling} : nic::Nic{config, hooks}},
      memory_{seed ^ 0x3e3, zone_size},
      burst_{habits.burst} {
  CHECK(nic_.set_gid(0, gid).has_value());
  nic_.set_port_active(true);
  pd_ = *nic_.alloc_pd();
  other_pd_ = *nic_.alloc_pd();
  constexpr Access kRights[MemoryModel::kZones] = {
      Access::kRemoteRead,
      Access::kLocalWrite | Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic |
          Access::kMwBind | Access::kFlushGlobal | Access::kFlushPersistent,
      Access::kLocalWrite};
  for (std::size_t i = 0; i < MemoryModel::kZones; ++i) {
    const auto zone = static_cast<MemoryModel::Zone>(i);
    const std::size_t start = memory_.zone_start(zone);
    regions_[i] =
        *nic_.register_mr({.pd = pd_,
                           .address = reinterpret_cast<std::uint64_t>(memory_.pointer(start)),
                           .length = memory_.zone_size(),
                           .iova = MemoryModel::iova(start),
                           .access = kRights[i],
                           .port = late});
    keys_[i] = *nic_.keys_of(regions_[i]);
  }
  network_.attach(gid_, [this](Parcel parcel) { arrive(std::move(parcel)); });
}

void Host::violation(const std::string& what) {
  journal_.violation(events_.now(), "host " + std::to_string(index_) + ": " + what);
}

nic::CqHandle Host::create_cq(std::uint32_t depth) {
  const auto common = std::ranges::find(queues_, 0U, &Queue::depth);
  if (habits_.one_cq && common != queues_.end()) {
    common->needed += depth;
    if (!nic_.resize_cq(common->cq, common->needed)) violation("resize_cq refused");
    return common->cq;
  }
  Queue queue{.cq = *nic_.create_cq({.depth = depth, .cookie = queues_.size()}), .needed = depth};
  if (habits_.listening != Listening::kPolls) {
    arm(queue);
    queue.watch.emptied();
  }
  queues_.push_back(std::move(queue));
  return queues_.back().cq;
}

nic::CqHandle Host::create_neglected_cq(std::uint32_t depth, Time until) {
  queues_.push_back({.cq = *nic_.create_cq({.depth = depth, .cookie = queues_.size()}),
                     .needed = depth,
                     .depth = depth,
                     .neglected_until = until});
  events_.at(until, [this] { pump(); });
  return queues_.back().cq;
}

void Host::attend_to(nic::CqHandle cq) {
  const auto queue = std::ranges::find(queues_, cq, &Queue::cq);
  if (queue != queues_.end() && neglected(*queue)) queue->neglected_until = events_.now();
}

void Host::destroy_cq(nic::CqHandle cq) {
  const auto queue = std::ranges::find(queues_, cq, &Queue::cq);
  if (!nic_.destroy_cq(cq)) violation("destroy_cq refused");
  queue->gone = true;
}

bool Host::neglected(const Queue& queue) const {
  return queue.depth > 0 && !queue.overrun && events_.now() < queue.neglected_until;
}

// An overrun CQ keeps its completions in order and accepts no more.
void Host::overran(const nic::Event& event) {
  if (event.cookie >= queues_.size() || queues_[event.cookie].cq != event.cq) {
    return violation("an error of no cq");
  }
  Queue& queue = queues_[event.cookie];
  if (queue.depth == 0) return violation("a cq that is large enough was overrun");
  if (queue.overrun) return violation("a cq was overrun twice");
  const bool untouched = neglected(queue);
  queue.overrun = true;
  const std::uint32_t found = poll(queue);
  if (untouched && found != queue.depth) {
    violation("an overrun cq of " + std::to_string(queue.depth) + " has kept " +
              std::to_string(found) + " completions");
  }
}

void Host::arm(Queue& queue) {
  const bool solicited_only = habits_.listening == Listening::kSolicited;
  if (!nic_.arm_cq(queue.cq, solicited_only)) violation("arm_cq refused");
  queue.watch.armed(solicited_only);
}

void Host::set_port(bool active) {
  nic_.set_port_active(active);
  pump();
  const auto told = active ? nic::EventKind::kPortActive : nic::EventKind::kPortError;
  if (port_event_ != told) violation("nobody told that the port has changed");
}

void Host::pump() {
  poll_memory();
  transmit();
  take_events();
  if (habits_.tunes_cqs && prng_.chance(50)) tune();
  poll_by_habit();
  for (Queue& queue : queues_) {
    if (queue.depth > 0) poll(queue);  // it is not armed
  }
  // Completions may have led to new work.
  transmit();
  take_events();
  set_alarm();
  if (!nic_.awaits_memory() || memory_poll_pending_) return;
  memory_poll_pending_ = true;
  events_.after(std::chrono::nanoseconds{prng_.between(100, 5'000)}, [this] {
    memory_poll_pending_ = false;
    pump();
  });
}

void Host::poll_memory() {
  if (nic_.awaits_memory()) nic_.poll_memory(events_.now());
}

void Host::poll_by_habit() {
  const bool seldom = habits_.listening == Listening::kWaits || habits_.polls_seldom;
  if (!seldom || prng_.chance(50)) return poll_all();
  if (!habits_.polls_seldom || poll_pending_) return;
  poll_pending_ = true;
  events_.after(std::chrono::microseconds{100}, [this] {
    poll_pending_ = false;
    poll_all();
    pump();
  });
}

void Host::transmit() {
  for (;;) {
    burst_.clear();
    nic_.transmit(burst_, events_.now());
    if (burst_.empty()) break;
    for (const wire::Frame& frame : burst_.frames()) network_.send(index_, frame);
  }
  if (nic_.port_active()) check_progress();
}

// The engine has sent all it may, so every QP with unsent work must have a reason to wait. It is a
// violation if a QP could send now (the scheduler has forgotten it), or if it waits for its peer
// without having requested an ACK.
void Host::check_progress() {
  std::erase_if(watched_, [this](nic::QpHandle handle) {
    const auto qp = nic_.query_qp(handle);
    if (!qp) return true;  // destroyed
    const bool can_send = qp->state == nic::QpState::kRts || qp->state == nic::QpState::kSqd;
    if (!can_send) return false;
    const nic::SendProgress& sends = qp->sends;
    if (sends.waits_for == nic::SendWait::kNothing) {
      violation("qp " + std::to_string(qp->qpn.value()) + " may send and gets no turn");
    }
    const bool blocked =
        sends.waits_for == nic::SendWait::kAnswer || sends.waits_for == nic::SendWait::kProgram;
    if (blocked && sends.unacknowledged > 0 && !sends.ack_requested) {
      violation("qp " + std::to_string(qp->qpn.value()) + " waits for an answer to " +
                std::to_string(sends.unacknowledged) +
                " packets, the last of which asked for none");
    }
    return false;
  });
}

void Host::take_events() {
  while (const std::optional<nic::Event> event = nic_.next_event()) {
    journal_.mix(static_cast<std::uint64_t>(event->kind));
    if (event->kind == nic::EventKind::kCompletion) {
      if (event->cookie >= queues_.size() || queues_[event->cookie].cq != event->cq) {
        violation("an event of no cq");
        continue;
      }
      Queue& queue = queues_[event->cookie];
      if (!queue.watch.is_armed()) violation("a cq told what it was not armed for");
      queue.watch.told();
      // Arm before polling, as programs must, or a completion in between raises no event.
      arm(queue);
      poll(queue);
      continue;
    }
    if (event->kind == nic::EventKind::kPortActive || event->kind == nic::EventKind::kPortError) {
      port_event_ = event->kind;
    }
    if (on_event_) on_event_(*this, *event);
    if (event->kind == nic::EventKind::kCqError) overran(*event);
  }
}

void Host::poll_all() {
  take_events();
  for (Queue& queue : queues_) poll(queue);
  // Flushes may have raised events meanwhile.
  take_events();
  // After a clock jump, expire() may still have to be called.
  const std::optional<Time> due = nic_.next_deadline();
  const bool late = events_.has_jumped() && due && *due <= events_.now();
  for (Queue& queue : queues_) {
    if (late || !queue.watch.overdue(events_.now())) continue;
    violation("an armed cq did not tell");
    queue.watch.told();  // once is enough
  }
  if (on_polled_) on_polled_(*this);
  set_alarm();
}

std::uint32_t Host::poll(Queue& queue) {
  if (queue.gone || neglected(queue)) return 0;
  std::uint32_t found = 0;
  std::array<nic::Completion, 8> some;
  for (;;) {
    const auto got = nic_.poll_cq(queue.cq, std::span{some}.first(1 + prng_.below(some.size())));
    CHECK(got.has_value());
    if (*got == 0) break;
    found += static_cast<std::uint32_t>(*got);
    for (const nic::Completion& completion : std::span{some}.first(*got)) {
      journal_.mix(events_.now().picoseconds());
      journal_.mix(completion.wr_id);
      journal_.mix(static_cast<std::uint64_t>(completion.status));
      const bool solicited = on_completion_ && on_completion_(*this, queue.cq, completion);
      queue.watch.polled(completion, solicited, events_.now());
    }
  }
  queue.watch.emptied();
  return found;
}

// Changes one CQ while it holds completions.
void Host::tune() {
  if (queues_.empty()) return;
  Queue& queue = queues_[prng_.below(queues_.size())];
  if (queue.depth > 0) return;
  if (prng_.chance(500)) {
    const auto depth = static_cast<std::uint32_t>(prng_.between(queue.needed, 3 * queue.needed));
    if (!nic_.resize_cq(queue.cq, depth)) violation("resize_cq refused");
    return;
  }
  const auto count = static_cast<std::uint16_t>(prng_.below(6));
  const Duration period{std::chrono::microseconds{prng_.between(1, 60)}};
  if (!nic_.moderate_cq(queue.cq, count, period)) violation("moderate_cq refused");
  queue.watch.moderated(count, period);
}

void Host::arrive(Parcel parcel) {
  inbox_.push_back(std::move(parcel));
  if (interrupt_pending_) return;
  interrupt_pending_ = true;
  const auto wait = static_cast<std::uint64_t>(habits_.interrupt_delay.count());
  events_.after(Duration{static_cast<std::int64_t>(prng_.below(wait + 1))},
                [this] { interrupt(); });
}

void Host::interrupt() {
  interrupt_pending_ = false;
  std::vector<Parcel> parcels;
  parcels.swap(inbox_);
  std::vector<wire::Frame> frames;
  std::vector<wire::Piece> pieces(parcels.size());
  for (std::size_t done = 0; done < parcels.size(); done += frames.size()) {
    frames.clear();
    const std::size_t most = std::min<std::size_t>(parcels.size() - done, habits_.receive_burst);
    const std::size_t count = prng_.between(1, most);
    for (std::size_t i = done; i < done + count; ++i) {
      frames.push_back(view(parcels[i], pieces[i]));
    }
    nic_.receive(frames, events_.now());
    if (prng_.chance(500)) pump();
  }
  pump();
}

void Host::set_alarm() {
  const std::optional<Time> deadline = nic_.next_deadline();
  if (!deadline || (alarm_ && *alarm_ <= *deadline)) return;
  const Time when = std::max(*deadline, events_.now());
  alarm_ = when;
  events_.at(when, [this, when] {
    if (alarm_ != when) return;  // an earlier alarm has replaced this one
    alarm_.reset();
    nic_.expire(events_.now());
    pump();
  });
}

}  // namespace nerve::dst
