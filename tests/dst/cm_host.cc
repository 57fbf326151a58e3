#include "tests/dst/cm_host.h"

#include <utility>

#include "wire/mad.h"

namespace nerve::dst {

using nic::CmEvent;
using nic::CmEventKind;

CmHost::CmHost(std::size_t index, const CmHabits& habits, const nic::NicConfig& config,
               std::uint64_t seed, EventQueue& events, Network& network, Journal& journal,
               CmLedger& ledger)
    : index_{index},
      habits_{habits},
      prng_{seed},
      events_{events},
      network_{network},
      journal_{journal},
      ledger_{ledger},
      nic_{config},
      burst_{static_cast<std::uint32_t>(prng_.between(1, 40)), 32},
      next_qpn_{static_cast<std::uint32_t>(0x1000 * (index + 1))} {
  CHECK(nic_.set_gid(0, gid_of(index)).has_value());
  listener_ = *nic_.cm().listen({.service = kServed, .backlog = habits.backlog});
  network_.attach(gid_of(index), [this](const Parcel& parcel) { arrive(parcel); });
}

void CmHost::violation(const std::string& what) {
  journal_.violation(events_.now(), "host " + std::to_string(index_) + ": " + what);
}

void CmHost::arrive(const Parcel& parcel) {
  const auto mad = wire::CmMad::decode(parcel.payload);
  expect(mad.has_value(), "a frame that is no MAD");
  if (!mad) return;
  wire::Piece piece;
  const wire::Frame frame = view(parcel, piece);
  owe(*mad);
  nic_.receive({&frame, 1}, events_.now());
  take_events();
  pump();
  for (const auto& [attribute, id] : owed_) {
    violation(std::string{"no "} + wire::to_string(attribute) + " for id " + std::to_string(id));
  }
  owed_.clear();
}

void CmHost::pump() {
  transmit();
  take_events();
  set_alarm();
}

void CmHost::transmit() {
  while (nic_.transmit(burst_, events_.now()) > 0) {
    for (const wire::Frame& frame : burst_.frames()) {
      if (const auto mad = wire::CmMad::decode(capture(frame).payload)) see_sent(*mad);
      network_.send(index_, frame);
    }
  }
  expect(!nic_.wants_to_send(), "something is left to send");
}

void CmHost::set_alarm() {
  const std::optional<Time> due = nic_.next_deadline();
  if (!due || (alarm_ && *alarm_ <= *due && *alarm_ > events_.now())) return;
  alarm_ = due;
  events_.at(*due, [this, when = *due] {
    if (alarm_ != when) return;
    alarm_.reset();
    nic_.expire(events_.now());
    pump();
  });
}

void CmHost::take_events() {
  while (const std::optional<CmEvent> event = nic_.cm().next_event()) take_event(*event);
}

void CmHost::take_event(const CmEvent& event) {
  journal_.mix(static_cast<std::uint64_t>(event.kind));
  journal_.mix(event.cookie);
  if (event.kind == CmEventKind::kRequest || event.kind == CmEventKind::kResolveRequest) {
    return on_request(event);
  }
  const auto found = tales_.find(event.cookie);
  if (found == tales_.end() || found->second.id != event.id) {
    return violation("an event of an id that is gone");
  }
  Tale& tale = found->second;
  journal_.line(events_.now(), "host " + std::to_string(index_) + " attempt " +
                                   std::to_string(tale.attempt) + " event " +
                                   std::to_string(static_cast<int>(event.kind)));
  switch (event.kind) {
    case CmEventKind::kReply:
      return on_reply(tale, event);
    case CmEventKind::kEstablished:
      return on_established(tale, event);
    case CmEventKind::kRejected:
      return on_rejected(tale, event);
    case CmEventKind::kUnreachable:
      expect_stage(tale, {Stage::kAsked, Stage::kAccepted}, "unreachable");
      expect(network_.faults().any() || habits_.slow || habits_.forgets || habits_.backlog < 1000,
             "unreachable on a good network");
      if (tale.active) ledger_.attempt(tale.attempt).unheard = true;
      return over(event.cookie, tale);
    case CmEventKind::kDisconnectRequested:
      expect_stage(tale, {Stage::kConnected}, "disconnect requested");
      expect(ledger_.attempt(tale.attempt).left, "a disconnect that no program wants");
      tale.stage = Stage::kToldToLeave;
      return soon(event.cookie, tale.stage, &CmHost::leave);
    case CmEventKind::kDisconnected:
      // Not requested here: the peer has given up, or uses its QP for another connection.
      expect_stage(tale, {Stage::kLeaving, Stage::kConnected}, "disconnected");
      rests(tale);
      tale.stage = Stage::kResting;
      return;
    case CmEventKind::kTimewaitOver:
      expect_stage(tale, {Stage::kResting}, "timewait over");
      return over(event.cookie, tale);
    case CmEventKind::kResolved:
      return on_resolved(tale, event);
    default:
      return;
  }
}

// Records the answer that a message requires immediately.
void CmHost::owe(const wire::CmMad& mad) {
  if (const auto* rep = std::get_if<wire::CmRep>(&mad.message)) {
    const Tale* tale = tale_of(rep->remote_comm_id);
    // Where QPs are reused, the engine may be disconnecting without having raised the event yet.
    if (tale != nullptr && tale->stage == Stage::kConnected && tale->active &&
        !habits_.reuses_qpns) {
      owed_.emplace_back(wire::CmAttribute::kRtu, rep->remote_comm_id.value());
    }
  }
  if (const auto* dreq = std::get_if<wire::CmDreq>(&mad.message)) {
    const Tale* tale = tale_of(dreq->remote_comm_id);
    const bool asks_the_program =
        tale != nullptr && (tale->stage == Stage::kConnected || tale->stage == Stage::kAccepted ||
                            tale->stage == Stage::kToldToLeave || tale->stage == Stage::kReplied);
    // A DREQ for another QP asks whether the connection exists; silence is an answer, too.
    const bool challenge = dreq->remote_qpn == Qpn{0};
    if (!asks_the_program && !challenge) {
      owed_.emplace_back(wire::CmAttribute::kDrep, dreq->remote_comm_id.value());
    }
  }
}

void CmHost::see_sent(const wire::CmMad& mad) {
  const auto pays = [this](wire::CmAttribute attribute, wire::CommId ours) {
    std::erase(owed_, std::pair{attribute, ours.value()});
  };
  if (const auto* req = std::get_if<wire::CmReq>(&mad.message)) {
    const auto attempt = ledger_.attempt_of(req->private_data);
    if (!attempt) return violation("a REQ that nobody asked for");
    for (const auto& [cookie, tale] : tales_) {
      if (tale.active && tale.attempt == *attempt)
        cookie_of_id_[req->local_comm_id.value()] = cookie;
    }
  } else if (const auto* rep = std::get_if<wire::CmRep>(&mad.message)) {
    const auto answer = ledger_.answer_of(rep->private_data);
    if (!answer) return violation("a REP that nobody accepted");
    for (const auto& [cookie, tale] : tales_) {
      if (!tale.active && tale.answer == *answer)
        cookie_of_id_[rep->local_comm_id.value()] = cookie;
    }
  } else if (const auto* rtu = std::get_if<wire::CmRtu>(&mad.message)) {
    pays(wire::CmAttribute::kRtu, rtu->local_comm_id);
  } else if (const auto* drep = std::get_if<wire::CmDrep>(&mad.message)) {
    pays(wire::CmAttribute::kDrep, drep->local_comm_id);
  }
}

CmHost::Tale* CmHost::tale_of(wire::CommId ours) {
  const auto cookie = cookie_of_id_.find(ours.value());
  if (cookie == cookie_of_id_.end()) return nullptr;
  const auto tale = tales_.find(cookie->second);
  return tale == tales_.end() ? nullptr : &tale->second;
}

void CmHost::expect_stage(const Tale& tale, std::initializer_list<Stage> allowed,
                          const char* event) {
  if (std::ranges::find(allowed, tale.stage) != allowed.end()) return;
  violation("attempt " + std::to_string(tale.attempt) + " is told \"" + event + "\" in stage " +
            std::to_string(static_cast<int>(tale.stage)));
}

// The peer's QP must not be used again during TIMEWAIT.
void CmHost::rests(const Tale& tale) {
  if (tale.active) return;
  const CmAttempt& attempt = ledger_.attempt(tale.attempt);
  resting_until_[{attempt.from, attempt.qpn}] = events_.now() + habits_.timewait();
}

void CmHost::stop_listening() {
  expect(nic_.cm().destroy(listener_).has_value(), "destroy of a listener refused");
  pump();
}

void CmHost::judge_end() {
  for (const auto& [cookie, tale] : tales_) {
    violation("attempt " + std::to_string(tale.attempt) + " hangs in stage " +
              std::to_string(static_cast<int>(tale.stage)));
  }
  if (nic_.cm().size() != 0) {
    violation(std::to_string(nic_.cm().size()) + " communications are left");
  }
}

}  // namespace nerve::dst
