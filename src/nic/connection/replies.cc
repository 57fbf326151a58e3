// Messages for a known communication: MRA, REJ, REP, RTU, DREQ, DREP.
#include <algorithm>

#include "base/planted.h"
#include "nic/connection/connection_manager.h"
#include "nic/connection/timing.h"

namespace nerve::nic {
namespace {

// Rejects a message whose IDs do not belong together.
wire::CmRej no_such_id(wire::CommId theirs, wire::CommId ours) {
  return {.local_comm_id = ours,
          .remote_comm_id = theirs,
          .subject = wire::CmSubject::kRep,
          .reason = wire::RejectReason::kInvalidCommId};
}

}  // namespace

bool ConnectionManager::from_peer(const Communication& comm, const Arrival& arrival) {
  const bool ours =
      arrival.flow.source == comm.flow.destination && arrival.flow.destination == comm.flow.source;
  if (!ours) ++counters_.mads_bad;
  return ours;
}

bool ConnectionManager::from_peer(const Communication& comm, wire::CommId theirs,
                                  const Arrival& arrival) {
  if (!from_peer(comm, arrival)) return false;
  const bool same = comm.remote_id == theirs;
  if (!same) ++counters_.mads_bad;
  return same;
}

void ConnectionManager::on(const wire::CmMra& mra, const Arrival& arrival) {
  Communication* comm = table_.find(mra.remote_comm_id);
  if (comm == nullptr || !from_peer(*comm, arrival)) return;
  const bool request = comm->state == CommState::kReqSent && mra.subject == wire::CmSubject::kReq &&
                       comm->transmitted;
  const bool reply = comm->state == CommState::kRepSent && mra.subject == wire::CmSubject::kRep &&
                     comm->transmitted;
  if (!request && !reply) {
    ++counters_.mads_duplicate;
    return;
  }
  comm->state = request ? CommState::kMraReqReceived : CommState::kMraRepReceived;
  const Duration service = cm_time(mra.service_timeout);
  comm->give_up_at += service;
  cancel_send(*comm);
  timers_.arm(*comm, std::min(arrival.now + service + comm->response_time, comm->give_up_at));
}

void ConnectionManager::on(const wire::CmRep& given, const Arrival& arrival) {
  Communication* comm = table_.find(given.remote_comm_id);
  if (comm == nullptr) {
    return answer_reject(arrival, no_such_id(given.local_comm_id, given.remote_comm_id));
  }
  if (!from_peer(*comm, arrival)) return;
  if (comm->remote_id && *comm->remote_id != given.local_comm_id) {
    return answer_reject(arrival, no_such_id(given.local_comm_id, given.remote_comm_id));
  }
  if (comm->state != CommState::kReqSent && comm->state != CommState::kMraReqReceived) {
    return on_late_reply(*comm, given, arrival);
  }
  wire::CmRep rep = given;
  if (comm->xrc && rep.local_eecn != 0) rep.local_qpn = Qpn{rep.local_eecn};
  comm->remote_id = rep.local_comm_id;
  comm->remote_guid = rep.local_ca_guid;
  comm->remote_qpn = rep.local_qpn;
  const PeerKey key{PeerKey::Kind::kQpn, arrival.flow.source, rep.local_ca_guid,
                    rep.local_qpn.value()};
  cancel_send(*comm);
  comm->state = CommState::kRepReceived;
  if (Communication* old = table_.find(key)) {
    if (!planted(Bug::kStaleNotNoticed)) {
      on_stale(*old, arrival.now);
      wire::CmRej rej = rejection(*comm, wire::RejectReason::kStaleConnection);
      raise(CmEventKind::kRejected, *comm, nullptr, rej);
      return send_final_reply(*comm, rej);
    }
    table_.forget_qpn(*old);
  }
  table_.index_qpn(*comm, key);
  raise(CmEventKind::kReply, *comm, &arrival, rep);
}

void ConnectionManager::on_late_reply(Communication& comm, const wire::CmRep& rep,
                                      const Arrival& arrival) {
  ++counters_.mads_duplicate;
  switch (comm.state) {
    case CommState::kEstablished:
      if (comm.active && !planted(Bug::kRtuNotRepeated)) resend(comm);
      return;
    case CommState::kMraRepSent:
      return resend(comm);
    case CommState::kFinalReplySent:
      if (comm.remote_id) return resend(comm);
      // We gave up before we knew the peer's ID, so our REJ did not contain it.
      return answer_reject(arrival, no_such_id(rep.local_comm_id, rep.remote_comm_id));
    default:
      return;
  }
}

void ConnectionManager::on(const wire::CmRtu& rtu, const Arrival& arrival) {
  Communication* comm = table_.find(rtu.remote_comm_id);
  if (comm == nullptr || !from_peer(*comm, rtu.local_comm_id, arrival)) return;
  if (comm->state == CommState::kRepSent || comm->state == CommState::kMraRepReceived) {
    return establish(*comm, &arrival, rtu);
  }
  ++counters_.mads_duplicate;
  if (comm->state == CommState::kFinalReplySent) resend(*comm);  // the peer has missed our REJ
}

// The connection of a peer that has given up without learning our ID. It has not seen our REP, so
// the connection is not established. Such a message has only one number that a stranger would have
// to guess, so the number of guesses is limited.
Communication* ConnectionManager::find_unanswered(const wire::CmRej& rej, const Arrival& arrival) {
  if (!unmatched_.has_token(kUnmatchedInterval, kUnmatchedBurst, arrival.now)) {
    ++counters_.mads_dropped;
    return nullptr;
  }
  Communication* const comm =
      table_.find(PeerKey{PeerKey::Kind::kCommId, arrival.flow.source, load_be<8>(rej.info(), 0),
                          rej.local_comm_id.value()});
  if (comm == nullptr) {
    (void)admit_unmatched(arrival.now);
  } else if (!comm->is_connecting()) {
    ++counters_.mads_bad;
    return nullptr;
  }
  return comm;
}

void ConnectionManager::on(const wire::CmRej& rej, const Arrival& arrival) {
  Communication* comm = table_.find(rej.remote_comm_id);
  if (rej.reason == wire::RejectReason::kTimeout && rej.info().size() >= 8 &&
      rej.remote_comm_id == wire::CommId{}) {
    comm = find_unanswered(rej, arrival);
  }
  if (comm == nullptr || !from_peer(*comm, arrival)) return;
  switch (comm->state) {
    case CommState::kReqSent:
    case CommState::kMraReqReceived:
      if (rej.reason == wire::RejectReason::kInvalidServiceId &&
          retry_refused(*comm, arrival.now)) {
        return;
      }
      break;  // with any ID or none from the peer
    case CommState::kReqReceived:
    case CommState::kMraReqSent:
    case CommState::kRepSent:
    case CommState::kMraRepReceived:
    case CommState::kRepReceived:
    case CommState::kMraRepSent:
      if (!from_peer(*comm, rej.local_comm_id, arrival)) return;
      break;
    case CommState::kEstablished:
    case CommState::kDreqSent:
      // The peer waited for our RTU in vain, or has lost the connection.
      if (!from_peer(*comm, rej.local_comm_id, arrival)) return;
      raise(CmEventKind::kDisconnected, *comm, &arrival, rej);
      return enter_timewait(*comm, arrival.now);
    default:
      ++counters_.mads_duplicate;
      return;
  }
  raise(CmEventKind::kRejected, *comm, &arrival, rej);
  end(*comm);
}

void ConnectionManager::on(const wire::CmDreq& dreq, const Arrival& arrival) {
  Communication* comm = table_.find(dreq.remote_comm_id);
  // An unknown connection is already disconnected (12.9.8.6).
  const wire::CmDrep gone{.local_comm_id = dreq.remote_comm_id,
                          .remote_comm_id = dreq.local_comm_id};
  if (comm == nullptr) return answer(arrival, gone);
  if (!from_peer(*comm, dreq.local_comm_id, arrival)) return;
  // A peer that asks whether the connection exists names another QP (challenge()).
  const bool over =
      comm->state == CommState::kTimewait || comm->state == CommState::kFinalReplySent;
  if (dreq.remote_qpn != comm->local_qpn && !over) {
    ++counters_.mads_bad;
    return;
  }
  switch (comm->state) {
    case CommState::kRepSent:
    case CommState::kMraRepReceived:
      // The RTU was lost; the DREQ implies it.
      establish(
          *comm, &arrival,
          wire::CmRtu{.local_comm_id = dreq.local_comm_id, .remote_comm_id = dreq.remote_comm_id});
      [[fallthrough]];
    case CommState::kEstablished:
      cancel_send(*comm);
      comm->state = CommState::kDreqReceived;
      comm->transaction = arrival.transaction;
      return raise(CmEventKind::kDisconnectRequested, *comm, &arrival, dreq);
    case CommState::kDreqSent:
      raise(CmEventKind::kDisconnected, *comm, &arrival, dreq);
      return answer_disconnect(*comm, arrival.transaction, {});
    case CommState::kTimewait:
    case CommState::kFinalReplySent:
      ++counters_.mads_duplicate;
      if (planted(Bug::kDrepNotRepeated)) return;
      // Repeat our DREP with its private data if there was one.
      return std::holds_alternative<wire::CmDrep>(comm->mad.message) ? resend(*comm)
                                                                     : answer(arrival, gone);
    default:
      ++counters_.mads_duplicate;
      return;
  }
}

void ConnectionManager::on(const wire::CmDrep& drep, const Arrival& arrival) {
  Communication* comm = table_.find(drep.remote_comm_id);
  if (comm == nullptr || !from_peer(*comm, drep.local_comm_id, arrival)) return;
  const bool lost = comm->state == CommState::kEstablished && comm->challenged;
  if (comm->state != CommState::kDreqSent && !lost) {
    ++counters_.mads_duplicate;
    return;
  }
  raise(CmEventKind::kDisconnected, *comm, &arrival, drep);
  enter_timewait(*comm, arrival.now);
}

}  // namespace nerve::nic
