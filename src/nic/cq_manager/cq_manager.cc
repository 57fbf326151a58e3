#include "nic/cq_manager/cq_manager.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/planted.h"

namespace nerve::nic {
namespace {

Unexpected<Error> no_such_cq() { return refuse(ErrorCode::kNoSuchObject, "no such cq"); }

Completion& slot(Cq& cq, std::uint32_t position) {
  return cq.ring.data()[position & (cq.ring.size() - 1)];
}

}  // namespace

Expected<CqHandle> CqManager::create(const CqInit& init) {
  if (init.depth == 0 || init.depth > limits_.max_cqe)
    return refuse(ErrorCode::kInvalid, "create cq: depth", init.depth, limits_.max_cqe);
  if (table_.full()) return refuse(ErrorCode::kLimit, "create cq: too many", 0, limits_.max_cq);

  auto [handle, cq] = table_.emplace();
  cq.ring = FixedArray<Completion>{std::bit_ceil(init.depth)};
  cq.depth = init.depth;
  cq.ignore_overrun = init.ignore_overrun;
  cq.cookie = init.cookie;
  cq.handle = handle;
  return handle;
}

Status CqManager::resize(CqHandle handle, std::uint32_t depth) {
  Cq* cq = find(handle);
  if (cq == nullptr) return no_such_cq();
  if (depth == 0 || depth > limits_.max_cqe)
    return refuse(ErrorCode::kInvalid, "resize cq: depth", depth, limits_.max_cqe);
  const std::uint32_t waiting = cq->waiting();
  if (waiting > depth)
    return refuse(ErrorCode::kInvalid, "resize cq: more completions wait", depth, waiting);

  if (const std::uint32_t size = std::bit_ceil(depth); size != cq->ring.size()) {
    FixedArray<Completion> ring{size};
    for (std::uint32_t i = 0; i < waiting; ++i) ring[i] = slot(*cq, cq->head + i);
    cq->ring = std::move(ring);
    cq->head = 0;
    cq->tail = waiting - (planted(Bug::kLoseOnResize) && waiting > 0 ? 1U : 0U);
    cq->changed();
  }
  cq->depth = depth;
  return Done{};
}

Status CqManager::moderate(CqHandle handle, std::uint16_t count, Duration period) {
  Cq* cq = find(handle);
  if (cq == nullptr) return no_such_cq();
  if (period < Duration{}) return refuse(ErrorCode::kInvalid, "moderate cq: negative period");
  cq->moderate_count = count;
  cq->moderate_period = period;
  // An event already held back keeps its deadline, but the new count may release it.
  if (cq->unannounced > 0 && cq->unannounced >= count) announce(*cq);
  return Done{};
}

Status CqManager::arm(CqHandle handle, bool solicited_only) {
  Cq* cq = find(handle);
  if (cq == nullptr) return no_such_cq();
  if (planted(Bug::kLoseCqEvent) && cq->waiting() > 0) return Done{};
  // The wider arm request holds until its event (IBTA 11.4.2.2).
  cq->arm = std::max(cq->arm, solicited_only ? Cq::Arm::kSolicited : Cq::Arm::kNext);
  return Done{};
}

Status CqManager::destroy(CqHandle handle) {
  Cq* cq = find(handle);
  if (cq == nullptr) return no_such_cq();
  if (cq->users > 0) return refuse(ErrorCode::kBusy, "destroy cq: still used", cq->users);
  if (cq->home != nullptr) {
    cq->home->timers_.remove(*cq);
    cq->home->events_.forget(handle);
  }
  table_.erase(handle);
  return Done{};
}

Expected<std::size_t> CqManager::poll(CqHandle handle, std::span<Completion> out) {
  Cq* cq = find(handle);
  if (cq == nullptr) return no_such_cq();
  ++cq->polls;
  const std::size_t count = std::min<std::size_t>(out.size(), cq->waiting());
  // Copied one by one: most polls find one or none, and a call to memcpy costs more than the copy.
  for (std::size_t i = 0; i < count; ++i) out[i] = slot(*cq, cq->head++);
  if (count > 0) cq->changed();
  return count;
}

void CqManager::add_user(Cq& cq) {
  ++cq.users;
  if (cq.home != nullptr) return;
  cq.home = this;
  if (planted(Bug::kCqHomeIsSiblings) && first_home() != nullptr) cq.home = first_home();
}

bool CqManager::push(Cq& cq, const Completion& completion, bool solicited, Time now) {
  if (planted(Bug::kCompletionToSiblingCq) && completion.wr_id % 16 == 0 &&
      first_home() != nullptr && first_home() != this) {
    return first_home()->push(*table_.at(0), completion, solicited, now);
  }
  if (cq.overrun || cq.waiting() == cq.depth) [[unlikely]] {
    if (!make_room(cq)) return false;
  }
  slot(cq, cq.tail++) = completion;
  cq.changed();
  if (planted(Bug::kSwapCompletions) && cq.waiting() >= 2)
    std::swap(slot(cq, cq.tail - 1), slot(cq, cq.tail - 2));

  if (cq.arm == Cq::Arm::kNone) return true;
  const bool matches =
      cq.arm == Cq::Arm::kNext || solicited || completion.status != WcStatus::kSuccess;
  if (matches) note_for_event(cq, now);
  return true;
}

bool CqManager::make_room(Cq& cq) {
  if (cq.ignore_overrun || planted(Bug::kOverrunLosesOldest)) {
    ++cq.head;
    return true;
  }
  if (!cq.overrun) {
    cq.overrun = true;
    cq.home->events_.push({.kind = EventKind::kCqError, .cookie = cq.cookie, .cq = cq.handle});
    // The count will never be reached now; a sleeping program must still be notified.
    if (cq.unannounced > 0) announce(cq);
  }
  return false;
}

void CqManager::note_for_event(Cq& cq, Time now) {
  if (++cq.unannounced >= cq.moderate_count) return announce(cq);
  // The period starts at the first completion held back, so that none waits longer than a period.
  if (!cq.timer.armed && cq.moderate_period > Duration{}) {
    cq.home->timers_.arm(cq, now + cq.moderate_period);
  }
}

void CqManager::announce(Cq& cq) {
  cq.arm = Cq::Arm::kNone;
  cq.unannounced = 0;
  cq.home->timers_.disarm(cq);
  cq.home->events_.push({.kind = EventKind::kCompletion, .cookie = cq.cookie, .cq = cq.handle});
}

void CqManager::forget(Cq& cq, Qpn qpn) {
  std::uint32_t kept = cq.head;
  for (std::uint32_t at = cq.head; at != cq.tail; ++at) {
    const std::uint32_t other = slot(cq, at).qpn.value() ^ qpn.value();
    if (other == 0 || (planted(Bug::kForgetsTwinQps) && other % 16 == 0)) continue;
    if (kept != at) slot(cq, kept) = slot(cq, at);
    ++kept;
  }
  cq.tail = kept;
  cq.changed();
}

bool CqManager::holds(Cq& cq, Qpn qpn) {
  for (std::uint32_t at = cq.head; at != cq.tail; ++at) {
    if (slot(cq, at).qpn == qpn) return true;
  }
  return false;
}

void CqManager::expire(Time now) {
  while (Cq* cq = timers_.pop_expired(now)) announce(*cq);
}

}  // namespace nerve::nic
