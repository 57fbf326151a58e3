// REQ: a new request for a listener, a duplicate, or an invalid one.
#include "base/planted.h"
#include "nic/connection/connection_manager.h"
#include "nic/connection/timing.h"

namespace nerve::nic {
namespace {

using wire::RejectReason;

PeerKey comm_id_key(const wire::CmReq& req, const wire::Gid& from) {
  return {PeerKey::Kind::kCommId, from, req.local_ca_guid, req.local_comm_id.value()};
}

PeerKey qpn_key(const wire::CmReq& req, const wire::Gid& from) {
  return {PeerKey::Kind::kQpn, from, req.local_ca_guid, req.local_qpn.value()};
}

bool transport_is_known(const wire::CmReq& req) {
  using wire::CmTransport;
  if (req.transport == CmTransport::kExtended) {
    return req.extended_transport == wire::CmExtendedTransport::kXrc;
  }
  return req.transport == CmTransport::kRc || req.transport == CmTransport::kUc;
}

// The code in a REQ: 1 is 256 bytes.
std::uint8_t code_of(Mtu mtu) {
  std::uint8_t code = 1;
  for (unsigned bytes = 256; bytes < static_cast<unsigned>(mtu); bytes *= 2) ++code;
  return code;
}

}  // namespace

std::optional<wire::CmRej> ConnectionManager::fault_of(const wire::CmReq& req,
                                                       const Arrival& arrival) const {
  wire::CmRej rej{.remote_comm_id = req.local_comm_id};
  const std::uint8_t max_mtu = code_of(config_.max_mtu);
  constexpr std::uint32_t kMulticastQpn = 0xff'ffff;
  if (!transport_is_known(req)) {
    rej.reason = RejectReason::kInvalidTransport;
  } else if (req.path_mtu < 1 || req.path_mtu > max_mtu) {
    rej.reason = RejectReason::kInvalidMtu;
    rej.info_length = 1;  // the acceptable MTU (12.6.7.2)
    rej.info_field[0] = static_cast<std::byte>(max_mtu << 4U);
  } else if (req.local_qpn.value() <= 1 || req.local_qpn.value() == kMulticastQpn ||
             !port_.match_pkey(req.pkey)) {
    rej.reason = RejectReason::kUnsupportedRequest;
  } else if (req.primary.local_gid != arrival.flow.source ||
             req.primary.remote_gid != arrival.flow.destination) {
    // The data path would connect other hosts than the ones that exchange these MADs, which is not
    // allowed.
    rej.reason = RejectReason::kPrimaryGid;
  } else {
    return std::nullopt;
  }
  return rej;
}

// Creates a communication for a request to a listener. Returns null when the backlog or the table
// is full: the request is dropped, as TCP drops a SYN. The peer retries by itself, whereas most
// programs treat a rejection as final. Linux does the same.
Communication* ConnectionManager::take_request(Communication& listener, const Arrival& arrival) {
  Communication* comm = listener.pending < listener.backlog ? make() : nullptr;
  if (comm == nullptr) {
    ++counters_.mads_dropped;
    return nullptr;
  }
  ++listener.pending;
  table_.assign_id(*comm);
  comm->owned = true;
  comm->cookie = listener.cookie;
  comm->listener = listener.handle;
  comm->service = listener.service;
  comm->transaction = arrival.transaction;
  comm->digest = arrival.digest;
  comm->flow = {.source = arrival.flow.destination,
                .destination = arrival.flow.source,
                .traffic_class = static_cast<std::uint8_t>(arrival.flow.traffic_class & 0xfcU)};
  comm->timewait = ack_time(kUsualAckTimeout);
  return comm;
}

void ConnectionManager::on(const wire::CmReq& req, const Arrival& arrival) {
  const wire::Gid& from = arrival.flow.source;
  if (Communication* known = table_.find(comm_id_key(req, from))) {
    if (known->state != CommState::kFinalReplySent || known->digest == arrival.digest) {
      return on_known_request(*known, req, arrival);
    }
    // A rejected ID may be reused immediately.
    end(*known);
  }
  if (const auto fault = fault_of(req, arrival)) return answer_reject(arrival, *fault);
  wire::CmRej rej{.remote_comm_id = req.local_comm_id};
  Communication* listener = table_.listener(req.service_id, arrival.flow.destination);
  if (listener == nullptr) {
    if (!admit_unmatched(arrival.now)) return;
    rej.reason = RejectReason::kInvalidServiceId;
    return answer_reject(arrival, rej);
  }
  // Last, because it concerns another connection than the one that is requested: a request that
  // would be refused for a reason of its own does not touch that.
  const PeerKey qpn = qpn_key(req, from);
  if (Communication* old = table_.find(qpn)) {
    if (!planted(Bug::kStaleNotNoticed)) {
      on_stale(*old, arrival.now);
      rej.reason = RejectReason::kStaleConnection;
      return answer_reject(arrival, rej);
    }
    table_.forget_qpn(*old);
  }
  make_room(arrival.now);
  Communication* comm = take_request(*listener, arrival);
  if (comm == nullptr) return;
  comm->state = CommState::kReqReceived;
  comm->remote_id = req.local_comm_id;
  comm->remote_guid = req.local_ca_guid;
  comm->remote_qpn = req.local_qpn;
  comm->xrc = req.transport == wire::CmTransport::kExtended;
  comm->service = req.service_id;
  comm->flow.traffic_class = req.primary.traffic_class;
  if (req.primary.hop_limit > 0) comm->flow.hop_limit = req.primary.hop_limit;
  comm->timewait = ack_time(req.primary.local_ack_timeout);
  comm->response_time = cm_time(req.local_cm_response_timeout) + comm->timewait;
  comm->max_retries = req.max_cm_retries;
  table_.index_comm_id(*comm, comm_id_key(req, from));
  table_.index_qpn(*comm, qpn);
  raise(CmEventKind::kRequest, *comm, &arrival, req);
}

void ConnectionManager::on_known_request(Communication& comm, const wire::CmReq& req,
                                         const Arrival& arrival) {
  wire::CmRej rej{.remote_comm_id = req.local_comm_id};
  if (comm.state == CommState::kTimewait) {
    rej.reason = RejectReason::kStaleConnection;
    return answer_reject(arrival, rej);
  }
  if (comm.digest != arrival.digest) {
    rej.reason = RejectReason::kDuplicateLocalCommId;
    return answer_reject(arrival, rej);
  }
  ++counters_.mads_duplicate;
  const bool asks_again = comm.state == CommState::kMraReqSent ||
                          comm.state == CommState::kRepSent ||
                          comm.state == CommState::kFinalReplySent;
  if (asks_again) resend(comm);
}

// The peer uses the QP for another connection: it has lost the old one (12.9.8.3.1). Or the message
// is forged, so an established connection ends only if the peer confirms it.
void ConnectionManager::on_stale(Communication& old, Time now) {
  if (old.is_connecting()) return reject_for_peer(old, RejectReason::kStaleConnection);
  // Other states end on their own.
  if (old.state != CommState::kEstablished || old.timer.armed) return;
  if (planted(Bug::kStaleEndsConnection)) return begin_disconnect(old, {});
  old.challenged = true;
  old.challenges_left = kChallenges;
  old.interval = kFirstRepeat;
  challenge(old, now);
}

// Each connection takes up a QP of the program. When most are in use, a request displaces the
// oldest connection that its peer does not confirm: those of forged requests, if there are any.
void ConnectionManager::make_room(Time now) {
  const std::uint32_t many = config_.limits.max_qp - config_.limits.max_qp / 8;
  Communication* const oldest = half_open_.front();
  if (table_.size() < many || oldest == nullptr) return;
  if (now - oldest->replied_at >= kReplyGrace) give_up(*oldest, now);
}

bool ConnectionManager::admit_unmatched(Time now) {
  if (unmatched_.take(kUnmatchedInterval, kUnmatchedBurst, now)) return true;
  ++counters_.mads_dropped;
  return false;
}

}  // namespace nerve::nic
