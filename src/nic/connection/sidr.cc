// SIDR: resolves a service ID to a UD QP (IBTA 12.11).
#include "nic/connection/connection_manager.h"
#include "nic/connection/private_data.h"
#include "nic/connection/timing.h"

namespace nerve::nic {

Expected<CommHandle> ConnectionManager::resolve(const CmResolve& resolve) {
  if (resolve.private_data.size() > 216) {
    return refuse(ErrorCode::kInvalid, "resolve: private data", resolve.private_data.size(), 216);
  }
  const Expected<Communication*> started = start(resolve.route, resolve.cookie);
  if (!started) return Unexpected{started.error()};
  Communication& comm = **started;
  const wire::CmSidrReq req{.request_id = comm.local_id,
                            .pkey = port_.pkey(0).value_or(PKey{0xffff}),
                            .service_id = resolve.service,
                            .private_data = private_data_of<216>(resolve.private_data)};
  send(comm, CommState::kSidrSent, own_transaction(comm, req.kAttribute), req);
  return comm.handle;
}

Status ConnectionManager::resolved(CommHandle id, const CmResolved& answer) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return refuse(ErrorCode::kNoSuchObject, "resolved: no such id");
  if (comm->state != CommState::kSidrReceived) {
    return refuse(ErrorCode::kInvalid, "resolved: no request");
  }
  if (answer.private_data.size() > 136) {
    return refuse(ErrorCode::kInvalid, "resolved: private data", answer.private_data.size(), 136);
  }
  send_final_reply(*comm,
                   wire::CmSidrRep{.request_id = *comm->remote_id,
                                   .status = answer.status,
                                   .qpn = answer.qpn,
                                   .service_id = comm->service,
                                   .qkey = answer.qkey,
                                   .private_data = private_data_of<136>(answer.private_data)});
  return Done{};
}

void ConnectionManager::on(const wire::CmSidrReq& req, const Arrival& arrival) {
  const PeerKey key{PeerKey::Kind::kSidr, arrival.flow.source, 0, req.request_id.value()};
  if (Communication* known = table_.find(key)) {
    if (known->digest == arrival.digest) {
      ++counters_.mads_duplicate;
      if (known->state == CommState::kFinalReplySent) resend(*known);
      return;
    }
    if (known->state != CommState::kFinalReplySent) {
      ++counters_.mads_bad;
      return;
    }
    end(*known);  // the ID was answered and is being reused
  }
  Communication* listener = table_.listener(req.service_id, arrival.flow.destination);
  if (listener == nullptr) {
    if (!admit_unmatched(arrival.now)) return;
    ++counters_.mads_rejected;
    return answer(arrival, wire::CmSidrRep{.request_id = req.request_id,
                                           .status = wire::SidrStatus::kUnsupportedService,
                                           .service_id = req.service_id});
  }
  Communication* comm = take_request(*listener, arrival);
  if (comm == nullptr) return;
  comm->state = CommState::kSidrReceived;
  comm->remote_id = req.request_id;
  table_.index_comm_id(*comm, key);
  raise(CmEventKind::kResolveRequest, *comm, &arrival, req);
}

void ConnectionManager::on(const wire::CmSidrRep& rep, const Arrival& arrival) {
  Communication* comm = table_.find(rep.request_id);
  if (comm == nullptr || !from_peer(*comm, arrival)) return;
  if (comm->state != CommState::kSidrSent) {
    ++counters_.mads_duplicate;
    return;
  }
  const bool nobody_listens = rep.status == wire::SidrStatus::kUnsupportedService;
  if (nobody_listens && retry_refused(*comm, arrival.now)) return;
  raise(CmEventKind::kResolved, *comm, &arrival, rep);
  end(*comm);
}

}  // namespace nerve::nic
