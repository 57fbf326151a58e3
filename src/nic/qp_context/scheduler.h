// Serves the QPs that have something to send, round robin. An idle QP costs nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "base/intrusive_list.h"
#include "base/timer_heap.h"
#include "nic/qp_context/qp.h"

namespace nerve::nic {

class Scheduler {
 public:
  // Gives the QP a turn because it may have something to send; a spurious wake-up is harmless. A
  // parked QP gets one only to acknowledge.
  void wake(Qp& qp) {
    if (ready_.contains(qp)) return;
    if (!parked_.empty() && parked_.contains(qp)) {
      if (!qp.responder.owes_acknowledge()) return;
      parked_.remove(qp);
    }
    ready_.push_back(qp);
  }
  // The path has no room for the QP's frames: it gets no turn before resume().
  void park(Qp& qp) {
    sleep(qp);
    if (!parked_.contains(qp)) parked_.push_back(qp);
  }
  [[nodiscard]] bool any_parked() const { return !parked_.empty(); }
  [[nodiscard]] bool is_parked(const Qp& qp) const { return parked_.contains(qp); }
  void resume() {
    while (Qp* qp = parked_.front()) {
      parked_.remove(*qp);
      wake(*qp);
    }
  }
  [[nodiscard]] Qp* next() const { return ready_.front(); }
  [[nodiscard]] Qp* only() const { return ready_.only(); }  // null: none, or more than one
  void sleep(Qp& qp) {
    if (ready_.contains(qp)) ready_.remove(qp);
  }
  // Moves the QP to the back of the queue.
  void rotate(Qp& qp) {
    sleep(qp);
    ready_.push_back(qp);
  }

  // Sets the QP's one timer to the earliest of its deadlines.
  void rearm(Qp& qp) {
    std::optional<Time> earliest = qp.requester.retry_at;
    const auto consider = [&](std::optional<Time> t) {
      if (t && (!earliest || *t < *earliest)) earliest = t;
    };
    consider(qp.requester.rnr_until);
    consider(qp.requester.pace_at);
    if (qp.requester.probe_armed) consider(qp.requester.probe_at);
    if (qp.selective) consider(qp.repeat->sent.reorder_at);
    if (earliest) {
      timers_.arm(qp, *earliest);
    } else {
      timers_.disarm(qp);
    }
  }
  [[nodiscard]] std::optional<Time> next_deadline() { return timers_.next_deadline(); }
  [[nodiscard]] Qp* pop_expired(Time now) { return timers_.pop_expired(now); }
  // For prefetching: the front timer may be disarmed or postponed.
  [[nodiscard]] Qp* next_timer() const { return timers_.first(); }
  void fetch_timers() const { timers_.fetch(); }

  // Allocated when a QP first uses late memory.
  Landing& landing_of(Qp& qp) {
    if (qp.landing == nullptr) qp.landing = std::make_unique<Landing>(qp, ++lives_);
    return *qp.landing;
  }
  // The QP waits for late memory: Nic::poll_memory() gives it a turn.
  void await_memory(Qp& qp) {
    Landing& landing = landing_of(qp);
    if (!awaiting_memory_.contains(landing)) awaiting_memory_.push_back(landing);
  }
  [[nodiscard]] static bool awaits_memory(const Qp& qp) {
    return qp.landing != nullptr && qp.landing->hook.linked;
  }
  [[nodiscard]] Landing* next_awaiting_memory() const { return awaiting_memory_.front(); }
  void stop_awaiting_memory(Landing& landing) { awaiting_memory_.remove(landing); }
  // The peer of this QP has demanded more credit than it has (credit_granter.h).
  void await_credit(UltraEthernet& ultra) {
    if (!awaiting_credit_.contains(ultra)) awaiting_credit_.push_back(ultra);
  }
  [[nodiscard]] UltraEthernet* next_without_credit() const { return awaiting_credit_.front(); }
  void stop_awaiting_credit(UltraEthernet& ultra) { awaiting_credit_.remove(ultra); }
  // The QP's life ends: what it holds back is lost.
  void forget_landing(Qp& qp) {
    if (awaits_memory(qp)) awaiting_memory_.remove(*qp.landing);
    qp.landing.reset();
  }

  // Called before a QP is destroyed, or when it may not send any more.
  void forget(Qp& qp) {
    sleep(qp);
    if (parked_.contains(qp)) parked_.remove(qp);
    timers_.remove(qp);
    UltraEthernet* const ultra = qp.ultra();
    if (ultra != nullptr && awaiting_credit_.contains(*ultra)) awaiting_credit_.remove(*ultra);
  }

 private:
  // In order of how often they are used.
  IntrusiveList<Qp, &Qp::ready_hook> ready_;
  TimerHeap<Qp, &Qp::timer> timers_;
  IntrusiveList<Qp, &Qp::parked_hook> parked_;
  IntrusiveList<UltraEthernet, &UltraEthernet::credit_hook> awaiting_credit_;
  IntrusiveList<Landing, &Landing::hook> awaiting_memory_;
  std::uint32_t lives_{};
};

}  // namespace nerve::nic
