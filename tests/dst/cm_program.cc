// The program of a CmHost: its calls, and its reactions to events.
#include "tests/dst/cm_host.h"

namespace nerve::dst {

using nic::CmEvent;
using wire::RejectReason;

// Usually none, sometimes longer than any timeout.
Duration CmHost::pause() {
  if (prng_.chance(500)) return {};
  if (habits_.slow && prng_.chance(50)) return 2 * habits_.patience();
  return Duration{static_cast<std::int64_t>(
      prng_.below(static_cast<std::uint64_t>(habits_.response_time().count())))};
}

// Acts later, unless the communication has changed state by then. Occasionally it is abandoned
// instead.
void CmHost::soon(std::uint64_t cookie, Stage stage, void (CmHost::*act)(std::uint64_t, Tale&)) {
  if (habits_.forgets && prng_.chance(100)) act = &CmHost::forget;
  Duration wait = pause();
  if (habits_.lasts && stage == Stage::kConnected) {
    wait = std::chrono::milliseconds{prng_.below(4'000)};
  }
  events_.after(wait, [this, cookie, stage, act] {
    const auto found = tales_.find(cookie);
    if (found == tales_.end() || found->second.stage != stage) return;
    (this->*act)(cookie, found->second);
    pump();
  });
}

void CmHost::connect(std::size_t to) {
  const bool served = prng_.chance(950);
  const std::vector<CmAttempt>& all = ledger_.attempts();
  Qpn qpn{next_qpn_++};
  if (habits_.reuses_qpns && prng_.chance(400) && !all.empty()) {
    const CmAttempt& other = all[prng_.below(all.size())];
    if (other.from == index_ && !other.resolves) qpn = other.qpn;
  }
  const std::size_t attempt =
      ledger_.add(CmAttempt{.from = index_, .to = to, .served = served, .qpn = qpn}, 92);
  const std::uint64_t cookie = next_cookie_++;
  const auto id =
      nic_.cm().connect({.route = {.local = gid_of(index_),
                                   .remote = gid_of(to),
                                   .response_timeout = habits_.response_timeout,
                                   .max_retries = habits_.max_retries},
                         .service = served ? kServed : kNotServed,
                         .offer = {.qpn = qpn, .psn = Psn{static_cast<std::uint32_t>(attempt)}},
                         .path_mtu = 3,
                         .local_ack_timeout = habits_.ack_timeout,
                         .private_data = ledger_.attempt(attempt).words,
                         .cookie = cookie});
  if (!id) return violation("connect refused");
  tales_[cookie] = {.id = *id, .stage = Stage::kAsked, .active = true, .attempt = attempt};
  if (habits_.forgets && prng_.chance(50)) soon(cookie, Stage::kAsked, &CmHost::forget);
  pump();
}

void CmHost::resolve(std::size_t to) {
  const bool served = prng_.chance(900);
  const std::size_t attempt =
      ledger_.add(CmAttempt{.from = index_, .to = to, .resolves = true, .served = served}, 216);
  const std::uint64_t cookie = next_cookie_++;
  const auto id = nic_.cm().resolve({.route = {.local = gid_of(index_),
                                               .remote = gid_of(to),
                                               .response_timeout = habits_.response_timeout,
                                               .max_retries = habits_.max_retries},
                                     .service = served ? kServed : kNotServed,
                                     .private_data = ledger_.attempt(attempt).words,
                                     .cookie = cookie});
  if (!id) return violation("resolve refused");
  tales_[cookie] = {.id = *id, .stage = Stage::kAsked, .active = true, .attempt = attempt};
  pump();
}

void CmHost::on_request(const CmEvent& event) {
  const auto* req = std::get_if<wire::CmReq>(&event.message);
  if (req != nullptr && CmStranger::made(*req)) {
    expect(nic_.cm().destroy(event.id).has_value(), "destroy refused");
    return;
  }
  const bool resolves = event.kind == nic::CmEventKind::kResolveRequest;
  const auto number =
      resolves ? ledger_.attempt_of(std::get<wire::CmSidrReq>(event.message).private_data)
               : ledger_.attempt_of(std::get<wire::CmReq>(event.message).private_data);
  if (!number) return violation("a request that nobody made");
  CmAttempt& attempt = ledger_.attempt(*number);
  expect(attempt.to == index_ && attempt.resolves == resolves && attempt.served &&
             event.flow.source == gid_of(attempt.from),
         "a request for another");
  expect(attempt.requests_alive++ == 0, "a request that is here already");
  if (!resolves) {
    expect(std::get<wire::CmReq>(event.message).local_qpn == attempt.qpn, "another QPN");
    for (const auto& [cookie, tale] : tales_) {
      const CmAttempt& other = ledger_.attempt(tale.attempt);
      const bool same = !tale.active && other.from == attempt.from && other.qpn == attempt.qpn &&
                        !other.resolves && tale.stage != Stage::kOver;
      if (same)
        violation("a QP in two connections: attempts " + std::to_string(tale.attempt) + " and " +
                  std::to_string(*number));
    }
    const auto resting = resting_until_.find({attempt.from, attempt.qpn});
    expect(resting == resting_until_.end() || resting->second <= events_.now(),
           "a QP is used again in timewait");
  }
  const std::uint64_t cookie = next_cookie_++;
  expect(nic_.cm().set_cookie(event.id, cookie).has_value(), "set_cookie refused");
  tales_[cookie] = {
      .id = event.id, .stage = Stage::kRequested, .attempt = *number, .answer = ~std::size_t{0}};
  soon(cookie, Stage::kRequested, &CmHost::answer_request);
}

void CmHost::answer_request(std::uint64_t cookie, Tale& tale) {
  nic::ConnectionManager& cm = nic_.cm();
  const CmAttempt& attempt = ledger_.attempt(tale.attempt);
  if (attempt.resolves) {
    tale.answer = ledger_.add(
        CmAnswer{.attempt = tale.attempt, .accepts = true, .qpn = Qpn{next_qpn_++}}, 136);
    const CmAnswer& answer = ledger_.answer(tale.answer);
    expect(cm.resolved(tale.id, {.qpn = answer.qpn, .private_data = answer.words}).has_value(),
           "resolved refused");
    return over(cookie, tale);
  }
  if (prng_.chance(150)) {
    expect(cm.delay(tale.id, static_cast<std::uint8_t>(prng_.between(5, 14))).has_value(),
           "delay refused");
    return soon(cookie, Stage::kRequested, &CmHost::answer_request);
  }
  if (prng_.chance(150)) {
    tale.answer = ledger_.add(CmAnswer{.attempt = tale.attempt}, 148);
    const Words& words = ledger_.answer(tale.answer).words;
    expect(cm.reject(tale.id, RejectReason::kConsumer, words).has_value(), "reject refused");
    return over(cookie, tale);
  }
  tale.answer =
      ledger_.add(CmAnswer{.attempt = tale.attempt, .accepts = true, .qpn = Qpn{next_qpn_++}}, 196);
  const CmAnswer& answer = ledger_.answer(tale.answer);
  expect(cm.accept(tale.id, {.qpn = answer.qpn}, answer.words).has_value(), "accept refused");
  tale.stage = Stage::kAccepted;
  if (habits_.forgets && prng_.chance(50)) soon(cookie, Stage::kAccepted, &CmHost::forget);
}

void CmHost::on_reply(Tale& tale, const CmEvent& event) {
  expect_stage(tale, {Stage::kAsked}, "reply");
  const auto& rep = std::get<wire::CmRep>(event.message);
  const auto number = ledger_.answer_of(rep.private_data);
  if (!number) return violation("a reply that nobody gave");
  const CmAnswer& answer = ledger_.answer(*number);
  CmAttempt& attempt = ledger_.attempt(tale.attempt);
  expect(answer.accepts && answer.attempt == tale.attempt && answer.qpn == rep.local_qpn,
         "a reply to another");
  expect(!attempt.replied, "two replies");
  attempt.replied = *number;
  tale.stage = Stage::kReplied;
  soon(event.cookie, tale.stage, &CmHost::answer_reply);
}

void CmHost::answer_reply(std::uint64_t cookie, Tale& tale) {
  nic::ConnectionManager& cm = nic_.cm();
  CmAttempt& attempt = ledger_.attempt(tale.attempt);
  if (prng_.chance(100)) {
    expect(cm.delay(tale.id, static_cast<std::uint8_t>(prng_.between(5, 14))).has_value(),
           "delay refused");
    return soon(cookie, Stage::kReplied, &CmHost::answer_reply);
  }
  if (prng_.chance(80)) {
    const std::size_t answer = ledger_.add(CmAnswer{.attempt = tale.attempt}, 148);
    expect(cm.reject(tale.id, RejectReason::kConsumer, ledger_.answer(answer).words).has_value(),
           "reject refused");
    attempt.unheard = true;
    return over(cookie, tale);
  }
  expect(cm.confirm(tale.id, {}).has_value(), "confirm refused");
  attempt.confirmed = true;
  tale.stage = Stage::kConnected;
  soon(cookie, Stage::kConnected, &CmHost::leave);
}

// Two generals: if the passive side is connected, the active one was connected at some time; it
// need not be any more, and the reverse does not hold.
void CmHost::on_established(Tale& tale, const CmEvent& event) {
  expect_stage(tale, {Stage::kAccepted}, "established");
  const CmAttempt& attempt = ledger_.attempt(tale.attempt);
  expect(attempt.confirmed && attempt.replied == tale.answer,
         "established with one who has not confirmed it");
  tale.stage = Stage::kConnected;
  soon(event.cookie, Stage::kConnected, &CmHost::leave);
}

void CmHost::on_rejected(Tale& tale, const CmEvent& event) {
  expect_stage(tale, {Stage::kAsked, Stage::kReplied, Stage::kRequested, Stage::kAccepted},
               "rejected");
  const auto& rej = std::get<wire::CmRej>(event.message);
  const CmAttempt& attempt = ledger_.attempt(tale.attempt);
  switch (rej.reason) {
    case RejectReason::kInvalidServiceId:
      expect(tale.active && !attempt.served, "no listener, it says");
      break;
    case RejectReason::kStaleConnection:
      // A stranger may spoil a connection that is not established.
      expect(habits_.reuses_qpns || (habits_.stranger && !tale.active), "stale, it says");
      break;
    case RejectReason::kInvalidCommId:
      expect(!tale.active && attempt.unheard, "an invalid id, it says");
      break;
    case RejectReason::kConsumer: {
      const bool forgotten = habits_.forgets && Bytes{rej.private_data}[7] == std::byte{0};
      const auto number = ledger_.answer_of(rej.private_data);
      expect(forgotten || (number && ledger_.answer(*number).attempt == tale.attempt &&
                           !ledger_.answer(*number).accepts),
             "a rejection that nobody gave");
      break;
    }
    case RejectReason::kTimeout:
      expect(network_.faults().any() || habits_.slow || habits_.forgets || habits_.backlog < 1000,
             "a timeout on a good network");
      break;
    default:
      violation("rejected for reason " + std::to_string(static_cast<int>(rej.reason)));
  }
  if (tale.active) ledger_.attempt(tale.attempt).unheard = true;
  over(event.cookie, tale);
}

void CmHost::on_resolved(Tale& tale, const CmEvent& event) {
  expect_stage(tale, {Stage::kAsked}, "resolved");
  const auto& rep = std::get<wire::CmSidrRep>(event.message);
  const CmAttempt& attempt = ledger_.attempt(tale.attempt);
  if (rep.status == wire::SidrStatus::kValid) {
    const auto number = ledger_.answer_of(rep.private_data);
    expect(number && ledger_.answer(*number).attempt == tale.attempt &&
               ledger_.answer(*number).qpn == rep.qpn,
           "an answer that nobody gave");
  } else {
    expect(rep.status == wire::SidrStatus::kRejected ? habits_.forgets : !attempt.served,
           "a service that nobody refused");
  }
  over(event.cookie, tale);
}

void CmHost::leave(std::uint64_t, Tale& tale) {
  ledger_.attempt(tale.attempt).left = true;
  expect(nic_.cm().disconnect(tale.id, {}).has_value() || habits_.reuses_qpns,
         "disconnect refused");
  const bool asked = tale.stage == Stage::kToldToLeave;
  if (asked) rests(tale);
  tale.stage = asked ? Stage::kResting : Stage::kLeaving;
}

void CmHost::over(std::uint64_t cookie, Tale& tale) {
  if (!tale.active) --ledger_.attempt(tale.attempt).requests_alive;
  tale.stage = Stage::kOver;
  soon(cookie, Stage::kOver, &CmHost::forget);
}

void CmHost::forget(std::uint64_t cookie, Tale& tale) {
  CmAttempt& attempt = ledger_.attempt(tale.attempt);
  attempt.left = true;
  if (tale.active) attempt.unheard = true;
  if (!tale.active && tale.stage != Stage::kOver) --attempt.requests_alive;
  if (tale.stage == Stage::kConnected || tale.stage == Stage::kToldToLeave ||
      tale.stage == Stage::kLeaving) {
    rests(tale);
  }
  expect(nic_.cm().destroy(tale.id).has_value(), "destroy refused");
  tales_.erase(cookie);
}

}  // namespace nerve::dst
