// Sends messages to the peer and events to the user, and schedules retransmissions.
#include <algorithm>

#include "base/planted.h"
#include "nic/connection/connection_manager.h"
#include "nic/connection/timing.h"

namespace nerve::nic {
namespace {

// How long an unanswered message is retransmitted. A peer chooses the time of our REP.
Duration patience(const Communication& comm) {
  const Duration asked = (comm.max_retries + 1) * comm.response_time;
  return comm.state == CommState::kRepSent ? std::min(asked, kHalfOpenTime) : asked;
}

}  // namespace

ConnectionManager::ConnectionManager(const NicConfig& config, Counters& counters, const Port& port,
                                     Trace* trace)
    : outbox_{counters, port, trace},
      config_{config},
      counters_{counters},
      port_{port},
      trace_{trace},
      table_{config} {}

Communication* ConnectionManager::make() {
  if (table_.full()) {
    Communication* oldest = table_.longest_lingering();
    if (oldest == nullptr) return nullptr;
    erase(*oldest);
  }
  return &table_.make();
}

void ConnectionManager::send(Communication& comm, CommState state, std::uint64_t transaction,
                             const wire::CmMessage& message) {
  cancel_send(comm);
  comm.state = state;
  comm.mad = {.transaction_id = transaction, .message = message};
  comm.transmitted = false;
  due_.push_back(comm);
}

void ConnectionManager::resend(Communication& comm) {
  ++counters_.mads_retried;
  if (!due_.contains(comm)) due_.push_back(comm);
}

bool ConnectionManager::retry_refused(Communication& comm, Time now) {
  if (!comm.transmitted || now >= comm.retry_refusal_until) return false;
  cancel_send(comm);
  comm.interval = std::min(kFirstRepeat, comm.response_time) / 2;  // doubled when it is sent
  timers_.arm(comm, now + kRefusedRepeat);
  return true;
}

void ConnectionManager::cancel_send(Communication& comm) {
  if (due_.contains(comm)) due_.remove(comm);
  if (half_open_.contains(comm)) half_open_.remove(comm);
  timers_.disarm(comm);
}

void ConnectionManager::answer(const Arrival& arrival, const wire::CmMessage& message) {
  outbox_.add({.source = arrival.flow.destination,
               .destination = arrival.flow.source,
               .traffic_class = static_cast<std::uint8_t>(arrival.flow.traffic_class & 0xfcU)},
              {.transaction_id = arrival.transaction, .message = message});
}

void ConnectionManager::answer_reject(const Arrival& arrival, const wire::CmRej& rej) {
  ++counters_.mads_rejected;
  answer(arrival, rej);
}

void ConnectionManager::raise(CmEventKind kind, Communication& comm, const Arrival* arrival,
                              const wire::CmMessage& message) {
  if (!comm.owned) return;
  // Events of destroyed communications stay until they are popped, but not without bound.
  constexpr std::size_t kSlack = 1024;
  if (events_.size() > 8 * std::size_t{table_.size()} + kSlack) {
    std::erase_if(events_, [this](const CmEvent& e) { return table_.find(e.id) == nullptr; });
  }
  events_.push_back({.kind = kind,
                     .id = comm.handle,
                     .listener = comm.listener,
                     .cookie = comm.cookie,
                     .flow = arrival != nullptr ? arrival->flow : wire::Flow{},
                     .message = message});
}

std::optional<CmEvent> ConnectionManager::next_event() {
  while (!events_.empty()) {
    CmEvent event = events_.front();
    events_.pop_front();
    const Communication* comm = table_.find(event.id);
    if (comm == nullptr) continue;
    event.cookie = comm->cookie;  // read now: the user may have set it for a new ID
    return event;
  }
  return std::nullopt;
}

void ConnectionManager::no_longer_pending(Communication& comm) {
  if (Communication* listener = table_.find(comm.listener)) --listener->pending;
  comm.listener = {};
}

void ConnectionManager::establish(Communication& comm, const Arrival* arrival,
                                  const wire::CmMessage& message) {
  cancel_send(comm);
  comm.state = CommState::kEstablished;
  if (planted(Bug::kEvictsEstablished)) half_open_.push_back(comm);
  raise(CmEventKind::kEstablished, comm, arrival, message);
}

void ConnectionManager::transmit(TxBurst& burst, Time now) {
  outbox_.begin();
  outbox_.put_answers(burst);
  while (!due_.empty() && outbox_.has_room(burst)) {
    Communication& comm = *due_.front();
    due_.remove(comm);
    outbox_.put(burst, comm.flow, comm.mad);
    after_turn(comm, now);
  }
}

// Timers start when the message is sent. A copy that answers a duplicate does not restart them.
void ConnectionManager::after_turn(Communication& comm, Time now) {
  if (comm.timer.armed) return;
  if (comm.awaits_answer()) {
    if (!comm.transmitted) {
      comm.transmitted = true;
      comm.interval = std::min(kFirstRepeat, comm.response_time);
      comm.give_up_at = now + patience(comm);
      comm.retry_refusal_until = now + config_.refusal_patience;
      if (comm.state == CommState::kRepSent) {
        comm.replied_at = now;
        comm.repeats_left = kReplyRepeats;
        half_open_.push_back(comm);
      }
    }
    timers_.arm(comm, std::min(now + comm.interval, comm.give_up_at));
  } else if (comm.state == CommState::kTimewait || comm.state == CommState::kFinalReplySent) {
    timers_.arm(comm, now + comm.timewait);
  }
}

void ConnectionManager::expire(Time now) {
  while (Communication* comm = timers_.pop_expired(now)) {
    if (comm->state == CommState::kTimewait) {
      raise(CmEventKind::kTimewaitOver, *comm);
      end(*comm);
    } else if (comm->state == CommState::kFinalReplySent) {
      end(*comm);
    } else if (comm->state == CommState::kEstablished) {
      challenge(*comm, now);
    } else if (now >= comm->give_up_at) {
      give_up(*comm, now);
    } else {
      repeat(*comm);
    }
  }
}

// The few copies of a REP are spread over the whole time, so that they also reach a peer that was
// unreachable for a while.
void ConnectionManager::repeat(Communication& comm) {
  if (comm.state != CommState::kRepSent) {
    comm.interval = std::min(2 * comm.interval, comm.response_time);
    return resend(comm);
  }
  if (comm.repeats_left == 0) return timers_.arm(comm, comm.give_up_at);
  --comm.repeats_left;
  comm.interval = std::min(4 * comm.interval, patience(comm) / kReplyRepeats);
  resend(comm);
}

}  // namespace nerve::nic
