// The end of communications: by DREQ, rejection, timeout, or because the user destroys them.
#include <algorithm>

#include "base/planted.h"
#include "nic/connection/connection_manager.h"
#include "nic/connection/private_data.h"
#include "nic/connection/timing.h"

namespace nerve::nic {

void ConnectionManager::begin_disconnect(Communication& comm, Bytes private_data) {
  send(comm, CommState::kDreqSent, own_transaction(comm, wire::CmAttribute::kDreq),
       wire::CmDreq{.local_comm_id = comm.local_id,
                    .remote_comm_id = *comm.remote_id,
                    .remote_qpn = comm.remote_qpn,
                    .private_data = private_data_of<220>(private_data)});
}

// Asks the peer whether it still has an established connection: by a DREQ for a QP that is not the
// connection's. A peer that has the connection ignores it (12.9.8.6; Linux, too). A peer that does
// not have it answers with a DREP, as to any DREQ. The DREQ that the standard suggests here would
// end the connection in both cases.
void ConnectionManager::challenge(Communication& comm, Time now) {
  if (comm.challenges_left == 0) return;
  constexpr Qpn kNoQp{0};
  outbox_.add(comm.flow, {.transaction_id = own_transaction(comm, wire::CmAttribute::kDreq),
                          .message = wire::CmDreq{.local_comm_id = comm.local_id,
                                                  .remote_comm_id = *comm.remote_id,
                                                  .remote_qpn = kNoQp}});
  --comm.challenges_left;
  timers_.arm(comm, now + comm.interval);
  comm.interval = 2 * comm.interval;
}

// TIMEWAIT begins when the DREP is sent.
void ConnectionManager::answer_disconnect(Communication& comm, std::uint64_t transaction,
                                          Bytes private_data) {
  send(comm, CommState::kTimewait, transaction,
       wire::CmDrep{.local_comm_id = comm.local_id,
                    .remote_comm_id = *comm.remote_id,
                    .private_data = private_data_of<224>(private_data)});
}

bool ConnectionManager::parting_from_others_than(std::span<const wire::Gid> here) {
  bool any = false;
  table_.for_each([&](const Communication& comm) {
    any = any || (comm.state == CommState::kDreqSent &&
                  std::ranges::find(here, comm.flow.destination) == here.end());
  });
  return any;
}

void ConnectionManager::enter_timewait(Communication& comm, Time now) {
  cancel_send(comm);
  comm.state = CommState::kTimewait;
  timers_.arm(comm, now + comm.timewait);
}

wire::CmRej ConnectionManager::rejection(const Communication& comm,
                                         wire::RejectReason reason) const {
  const bool of_request =
      comm.state == CommState::kReqReceived || comm.state == CommState::kMraReqSent ||
      comm.state == CommState::kReqSent || comm.state == CommState::kMraReqReceived;
  wire::CmRej rej{.local_comm_id = comm.local_id,
                  .remote_comm_id = comm.remote_id.value_or(wire::CommId{}),
                  .subject = of_request ? wire::CmSubject::kReq : wire::CmSubject::kRep,
                  .reason = reason};
  if (reason == wire::RejectReason::kTimeout) {
    // A peer that has not told us its ID yet finds us by our GUID (12.6.7.2).
    rej.info_length = 8;
    store_be<8>(rej.info_field, 0, config_.guid);
  }
  return rej;
}

// The communication is finished, but the message may be lost: a request repeated within the packet
// lifetime is answered again and does not start a new one. It does not make a connection stale: the
// peer may reuse its QP immediately.
void ConnectionManager::send_final_reply(Communication& comm, const wire::CmMessage& message) {
  if (std::holds_alternative<wire::CmRej>(message)) ++counters_.mads_rejected;
  no_longer_pending(comm);
  table_.forget_qpn(comm);
  send(comm, CommState::kFinalReplySent, comm.transaction, message);
  if (!comm.owned) table_.linger(comm);
}

void ConnectionManager::end(Communication& comm) {
  if (!comm.owned) return erase(comm);
  no_longer_pending(comm);
  cancel_send(comm);
  table_.forget(comm);
  comm.state = CommState::kIdle;
}

void ConnectionManager::erase(Communication& comm) {
  no_longer_pending(comm);
  cancel_send(comm);
  timers_.remove(comm);
  table_.erase(comm);
}

void ConnectionManager::give_up(Communication& comm, Time now) {
  switch (comm.state) {
    case CommState::kDreqSent:
      raise(CmEventKind::kDisconnected, comm);
      return enter_timewait(comm, now);
    case CommState::kSidrSent:
      raise(CmEventKind::kUnreachable, comm);
      return end(comm);
    default:
      raise(CmEventKind::kUnreachable, comm);
      return send_final_reply(comm, rejection(comm, wire::RejectReason::kTimeout));
  }
}

Status ConnectionManager::destroy(CommHandle id) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return refuse(ErrorCode::kNoSuchObject, "destroy: no such id");
  comm->owned = false;
  switch (comm->state) {
    case CommState::kListen:
      destroy_listener(*comm);
      break;
    case CommState::kReqSent:
      if (!comm->transmitted) {
        erase(*comm);  // the user has not seen it yet
        break;
      }
      [[fallthrough]];
    case CommState::kMraReqReceived:
      send_final_reply(*comm, rejection(*comm, wire::RejectReason::kTimeout));
      break;
    case CommState::kRepReceived:
    case CommState::kMraRepSent:
    case CommState::kReqReceived:
    case CommState::kMraReqSent:
    case CommState::kRepSent:
    case CommState::kMraRepReceived:
      send_final_reply(*comm, rejection(*comm, wire::RejectReason::kConsumer));
      break;
    case CommState::kEstablished:
      begin_disconnect(*comm, {});
      break;
    case CommState::kDreqReceived:
      answer_disconnect(*comm, comm->transaction, {});
      break;
    case CommState::kSidrReceived:
      send_final_reply(*comm, wire::CmSidrRep{.request_id = *comm->remote_id,
                                              .status = wire::SidrStatus::kRejected,
                                              .service_id = comm->service});
      break;
    case CommState::kFinalReplySent:
      table_.linger(*comm);
      break;
    case CommState::kDreqSent:
    case CommState::kTimewait:
      break;  // it finishes without the user
    case CommState::kIdle:
    case CommState::kSidrSent:
      erase(*comm);
      break;
  }
  return Done{};
}

// Rejects requests that were not delivered; the others belong to the user.
void ConnectionManager::destroy_listener(Communication& listener) {
  for (const CmEvent& event : events_) {
    const bool request =
        event.kind == CmEventKind::kRequest || event.kind == CmEventKind::kResolveRequest;
    if (request && event.listener == listener.handle) (void)destroy(event.id);
  }
  erase(listener);
}

}  // namespace nerve::nic
