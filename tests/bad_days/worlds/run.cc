// The course of a world: connect, run until both sides have nothing more to do, move all QPs to
// ERR, compare.
#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "tests/bad_days/worlds/side.h"

namespace worlds {
namespace {

constexpr std::uint64_t kNever = ~std::uint64_t{0};

}  // namespace

Side::Side(const World& world, std::size_t side, ibv_context* context, Control& control,
           Plant& plant, std::uint64_t patience_us)
    : world_{world},
      side_{side},
      control_{control},
      plant_{plant},
      patience_us_{patience_us},
      prng_{world.seed + side},
      memory_{world.memories[side].initial()},
      expected_{memory_},
      objects_{world, side, context, memory_},
      queues_(world.qps.size() + 1),
      qps_(world.qps.size()),
      arming_(objects_.cqs().size()) {
  queues_.back().plan = &world.sides[side].shared;
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    const QpPlan& plan = world.qps[i];
    queues_[i].plan = &plan.ends[side].receives;
    const bool shares = plan.ends[side].shared_receives && objects_.srq() != nullptr;
    Qp& qp = qps_[i];
    qp.plan = &plan;
    qp.requests = &plan.ends[side].requests;
    qp.peer_requests = &plan.ends[1 - side].requests;
    qp.receives = shares ? &queues_.back() : &queues_[i];
    qp.number = objects_.qp(i)->qp_num;
    qp.matched.resize(qp.peer_requests->size());
  }
  for (Queue& queue : queues_) queue.done.resize(queue.plan->receives.size());
}

void Side::live() {
  set_description(this);
  exchange_cards();
  run_until_idle();
  drain();
  control_.send({.word = Word::kReport, .report = report()});
  check_end(control_.wait(Word::kReport).report);
  objects_.destroy();
  set_description(nullptr);
  control_.send({.word = Word::kOver});
  (void)control_.wait(Word::kOver);
}

void Side::exchange_cards() {
  control_.send({.word = Word::kCard, .card = objects_.card()});
  peer_ = control_.wait(Word::kCard).card;
  for (std::size_t i = 0; i < qps_.size(); ++i) qps_[i].peer_number = peer_.qpns[i];
  objects_.connect(peer_);
  // Some receives are posted at the beginning, and all of those that unreliable messages need.
  const std::uint64_t now = now_us();
  for (Queue& queue : queues_) {
    const auto& receives = queue.plan->receives;
    queue.due_us = receives.empty() ? now : now + receives.front().delay_us;
  }
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    if (qps_[i].receives == &queues_[i]) (void)post_receives(queues_[i], objects_.qp(i), i);
  }
  for (Qp& qp : qps_) {
    if (qp.plan->pauses && qp.plan->blow == Blow::kNone) qp.pause_us = now + prng_.between(1, 1000);
  }
  control_.send({.word = Word::kReady});
  (void)control_.wait(Word::kReady);
}

void Side::run_until_idle() {
  bool told = false;
  progress_us_ = now_us();
  while (!told || !peer_idle_) {
    if (step()) {
      progress_us_ = now_us();
      quiet_ = 0;
    } else {
      wait();
    }
    if (!told && idle()) {
      told = true;
      control_.send({.word = Word::kIdle});
    }
    if (now_us() - progress_us_ > patience_us_) violation("no progress");
  }
  linger();
}

bool Side::step() {
  step_us_ = now_us();
  bool busy = hear();
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    busy |= post_requests(i);
    busy |= pause_or_resume(i);
    if (qps_[i].receives == &queues_[i] && qps_[i].may_post) {
      busy |= post_receives(queues_[i], objects_.qp(i), i);
    }
  }
  if (objects_.srq() != nullptr) busy |= post_receives(queues_.back(), nullptr, kSharedQueue);
  // CQs may be armed while completions are waiting.
  if (objects_.channel() != nullptr && prng_.chance(300)) arm();
  busy |= poll_all();
  return busy;
}

void Side::arm() {
  for (std::size_t i = 0; i < arming_.size(); ++i) {
    const bool solicited = next_is_solicited(i);
    Arming& arming = arming_[i];
    if (arming.any || (arming.solicited && solicited)) continue;
    errno = ibv_req_notify_cq(objects_.cqs()[i], solicited ? 1 : 0);
    must(errno == 0, "ibv_req_notify_cq");
    (solicited ? arming.solicited : arming.any) = true;
    ++arming.events_allowed;
  }
}

// Stops a send queue for a while: sent requests complete, posted ones wait.
bool Side::pause_or_resume(std::size_t index) {
  Qp& qp = qps_[index];
  if (qp.pause_us == 0 || step_us_ < qp.pause_us) return false;
  objects_.to_state(index, qp.paused ? IBV_QPS_RTS : IBV_QPS_SQD);
  qp.pause_us = qp.paused ? 0 : step_us_ + prng_.between(20, 3000);
  qp.paused = !qp.paused;
  return true;
}

// Sleeps until an event if the plan uses events; otherwise yields.
void Side::wait() {
  ibv_comp_channel* const channel = objects_.channel();
  if (channel == nullptr) {
    constexpr std::uint32_t kPatient = 32;
    if (++quiet_ % kPatient == 0) ::sched_yield();
    return;
  }
  arm();
  if (poll_all()) return;  // it came before the CQ was armed
  const std::uint64_t now = now_us();
  const std::uint64_t due = std::min(next_due(), progress_us_ + patience_us_ + 1);
  const std::uint64_t left_us = due > now ? due - now : 0;
  const timespec left{.tv_sec = static_cast<time_t>(left_us / 1'000'000),
                      .tv_nsec = static_cast<long>(left_us % 1'000'000 * 1000)};
  pollfd ready[2] = {{.fd = channel->fd, .events = POLLIN, .revents = 0},
                     {.fd = control_.fd(), .events = POLLIN, .revents = 0}};
  (void)::ppoll(ready, 2, &left, nullptr);
  ibv_cq* cq{};
  void* cookie{};
  while (ibv_get_cq_event(channel, &cq, &cookie) == 0) {
    ibv_ack_cq_events(cq, 1);
    const auto found = std::ranges::find(objects_.cqs(), cq);
    if (found == objects_.cqs().end()) violation("an event of a completion queue that is not ours");
    if (plant_.now(Mistake::kEvent)) continue;
    const auto index = static_cast<std::size_t>(found - objects_.cqs().begin());
    Arming& arming = arming_[index];
    if (arming.events_allowed == 0)
      violation("more events of a completion queue than it was armed");
    arming = {.any = false, .solicited = false, .events_allowed = arming.events_allowed - 1};
  }
}

// True if the CQ reports only receives of one QP, and the next of them is for a solicited message.
bool Side::next_is_solicited(std::size_t cq) const {
  if (world_.sides[side_].cqs != CqLayout::kOnePerQueue || cq % 2 == 0) return false;
  const Qp& qp = qps_[cq / 2];
  if (!qp.plan->reliable() || qp.plan->blow != Blow::kNone) return false;
  const auto from = qp.peer_requests->begin() + static_cast<std::ptrdiff_t>(qp.delivered);
  const auto next = std::find_if(from, qp.peer_requests->end(),
                                 [](const Request& r) { return r.consumes_receive; });
  return next != qp.peer_requests->end() && next->solicited;
}

std::uint64_t Side::next_due() const {
  std::uint64_t next = kNever;
  // Anything due at the last step waits for something else.
  const auto consider = [&](std::uint64_t due) {
    if (due > step_us_) next = std::min(next, due);
  };
  for (const Qp& qp : qps_) {
    consider(qp.due_us);
    consider(qp.pause_us);
  }
  for (const Queue& queue : queues_) consider(queue.due_us);
  return next;
}

bool Side::hear() {
  bool any = false;
  // Messages after kIdle are handled later.
  while (!peer_idle_) {
    const auto message = control_.poll();
    if (!message) break;
    any = true;
    switch (message->word) {
      case Word::kStrike:
        qps_.at(message->qp).health = Health::kStriking;
        break;
      case Word::kStruck:
        on_struck(qps_.at(message->qp));
        break;
      case Word::kWindow:
        peer_.windows.at(message->qp) = message->key;
        break;
      case Word::kIdle:
        peer_idle_ = true;
        break;
      default:
        violation("the two sides of the test program do not agree");
    }
  }
  return any;
}

void Side::on_struck(Qp& qp) {
  qp.may_post = false;
  if (qp.plan->peer_waits) return;
  objects_.to_state(static_cast<std::size_t>(&qp - qps_.data()), IBV_QPS_ERR);
  qp.health = Health::kError;
}

bool Side::reused(std::size_t at) const {
  return std::ranges::any_of(reused_,
                             [&](const Piece& p) { return at >= p.at && at - p.at < p.length; });
}

bool Side::lossy(const Qp& qp) const {
  // A socket's buffer may overflow if its reader does not run for a while.
  const bool udp = world_.settings.udp;
  return !qp.plan->reliable() && (world_.settings.loses || world_.settings.repeats || udp);
}

bool Side::signaled_outstanding(const Qp& qp) const {
  return std::any_of(qp.requests->begin() + static_cast<std::ptrdiff_t>(qp.completed),
                     qp.requests->begin() + static_cast<std::ptrdiff_t>(qp.posted),
                     [](const Request& r) { return r.signaled; });
}

// True if every request that will announce itself has done so.
bool Side::settled(const Qp& qp) const {
  if (qp.health == Health::kGone) return true;
  return qp.send_error ? qp.completed == qp.posted : !signaled_outstanding(qp);
}

bool Side::waits_for_messages(const Qp& qp) const {
  return !lossy(qp) &&
         std::any_of(qp.peer_requests->begin() + static_cast<std::ptrdiff_t>(qp.delivered),
                     qp.peer_requests->end(), [](const Request& r) { return r.consumes_receive; });
}

bool Side::idle() const {
  return std::ranges::all_of(qps_, [&](const Qp& qp) {
    if (!settled(qp)) return false;
    if (qp.plan->blow == Blow::kNone) {
      return qp.posted == qp.requests->size() && !waits_for_messages(qp);
    }
    // What is left of it will never be posted.
    return !qp.may_post;
  });
}

// Messages of unreliable QPs may still be in flight.
void Side::linger() {
  constexpr std::uint64_t kMoment = 3000;
  if (!std::ranges::any_of(qps_, [&](const Qp& qp) { return lossy(qp); })) return;
  for (const std::uint64_t end = now_us() + kMoment; now_us() < end;) (void)poll_all();
}

// Moves every QP to ERR: outstanding requests must be flushed, and nothing else may complete.
void Side::drain() {
  draining_ = true;
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    if (qps_[i].health == Health::kGone) continue;
    const ibv_qp_state state = objects_.state_of(i);
    const bool good = qps_[i].plan->blow == Blow::kNone;
    if (good && state != (qps_[i].paused ? IBV_QPS_SQD : IBV_QPS_RTS)) {
      wrong(qps_[i], "is in state " + std::to_string(state) + " at the end");
    }
    objects_.to_state(i, IBV_QPS_ERR);
  }
  const auto over = [&] {
    return std::ranges::all_of(qps_, [&](const Qp& qp) {
      const bool own = qp.receives != &queues_.back() && qp.health != Health::kGone;
      return settled(qp) && (!own || qp.receives->completed == qp.receives->posted);
    });
  };
  const std::uint64_t end = now_us() + patience_us_;
  while (poll_all() || !over()) {
    if (now_us() > end) violation("not flushed");
  }
  check_async_events();
}

void Side::check_async_events() {
  ibv_async_event event{};
  while (ibv_get_async_event(objects_.context(), &event) == 0) {
    const std::string what = ibv_event_type_str(event.event_type);
    const ibv_qp* const qp = event.element.qp;
    ibv_ack_async_event(&event);
    switch (event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR: {
        const Qp* const known = qp_by_number(qp->qp_num);
        if (known == nullptr || known->health == Health::kGood) violation("event: " + what);
        break;
      }
      case IBV_EVENT_QP_LAST_WQE_REACHED:
        if (qp->srq == nullptr) violation("event: " + what + " of a QP without an SRQ");
        break;
      case IBV_EVENT_GID_CHANGE:
      case IBV_EVENT_PORT_ACTIVE:
        break;
      default:
        violation("event: " + what);
    }
  }
}

Report Side::report() const {
  Report report;
  for (std::size_t i = 0; i < qps_.size(); ++i) {
    report.qps[i] = {.posted = static_cast<std::uint32_t>(qps_[i].posted),
                     .confirmed = static_cast<std::uint32_t>(qps_[i].confirmed),
                     .delivered = static_cast<std::uint32_t>(qps_[i].delivered)};
  }
  return report;
}

Side::Qp* Side::qp_by_number(std::uint32_t number) {
  const auto found = std::ranges::find(qps_, number, &Qp::number);
  return found == qps_.end() ? nullptr : &*found;
}

std::string Side::name(const Qp& qp) const {
  const char* const type = qp.plan->type == IBV_QPT_RC   ? "RC"
                           : qp.plan->type == IBV_QPT_UC ? "UC"
                                                         : "UD";
  return std::string{type} + " qp " + std::to_string(&qp - qps_.data());
}

void Side::wrong(const Qp& qp, const std::string& what) const { violation(name(qp) + ": " + what); }

std::string Side::describe() const {
  std::string text;
  for (const Qp& qp : qps_) {
    text += (text.empty() ? "" : ", ") + name(qp) + " posted " + std::to_string(qp.posted) + "/" +
            std::to_string(qp.requests->size()) + " completed " + std::to_string(qp.completed) +
            " delivered " + std::to_string(qp.delivered) + "/" +
            std::to_string(qp.peer_requests->size());
    if (qp.completed < qp.posted) {
      text += std::string{" waiting for "} + name_of((*qp.requests)[qp.completed].op);
    }
    if (qp.may_post && qp.posted < qp.requests->size()) {
      const Request& next = (*qp.requests)[qp.posted];
      text += " next " + std::string{name_of(next.op)} + " after " + std::to_string(qp.received) +
              "/" + std::to_string(next.after_receives) + " receives, queue " +
              std::to_string(qp.posted - qp.completed) + "/" + std::to_string(qp.plan->depth);
    }
  }
  return text;
}

}  // namespace worlds
