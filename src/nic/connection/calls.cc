// The user's calls: each checks its arguments, builds a message and queues it.
#include "nic/connection/connection_manager.h"
#include "nic/connection/private_data.h"
#include "nic/connection/timing.h"

namespace nerve::nic {
namespace {

constexpr std::uint32_t kUsualBacklog = 1024;
constexpr std::uint8_t kTargetAckDelay = 15;  // 134 ms, as in Soft-RoCE

Unexpected<Error> no_such(const char* reason) { return refuse(ErrorCode::kNoSuchObject, reason); }

// Checks fields that are narrower on the wire than in memory.
Status check(const CmOffer& offer) {
  if (offer.rnr_retry_count > 7) {
    return refuse(ErrorCode::kInvalid, "offer: rnr retry count", offer.rnr_retry_count, 7);
  }
  return Done{};
}

Status check(const CmConnect& connect) {
  if (const Status offer = check(connect.offer); !offer) return offer;
  if (connect.private_data.size() > 92) {
    return refuse(ErrorCode::kInvalid, "connect: private data", connect.private_data.size(), 92);
  }
  if (connect.path_mtu < 1 || connect.path_mtu > 5) {
    return refuse(ErrorCode::kInvalid, "connect: path mtu", connect.path_mtu, 5);
  }
  if (connect.retry_count > 7) {
    return refuse(ErrorCode::kInvalid, "connect: retry count", connect.retry_count, 7);
  }
  if (connect.local_ack_timeout > 31) {
    return refuse(ErrorCode::kInvalid, "connect: ack timeout", connect.local_ack_timeout, 31);
  }
  using wire::CmTransport;
  const bool known = connect.transport == CmTransport::kRc ||
                     connect.transport == CmTransport::kUc ||
                     (connect.transport == CmTransport::kExtended &&
                      connect.extended_transport == wire::CmExtendedTransport::kXrc);
  if (!known) {
    return refuse(ErrorCode::kNotSupported, "connect: transport",
                  static_cast<std::uint64_t>(connect.transport));
  }
  return Done{};
}

wire::CmReq req_of(const CmConnect& connect) {
  const CmRoute& route = connect.route;
  const CmOffer& offer = connect.offer;
  constexpr std::uint16_t kNoLid = 0xffff;  // as Linux does where there are no LIDs
  return {.service_id = connect.service,
          .local_qkey = offer.qkey,
          .local_qpn = offer.qpn,
          .responder_resources = offer.responder_resources,
          .initiator_depth = offer.initiator_depth,
          .remote_cm_response_timeout = route.response_timeout,
          .transport = connect.transport,
          .end_to_end_flow_control = offer.end_to_end_flow_control,
          .starting_psn = offer.psn,
          .local_cm_response_timeout = route.response_timeout,
          .retry_count = connect.retry_count,
          .path_mtu = connect.path_mtu,
          .rnr_retry_count = offer.rnr_retry_count,
          .max_cm_retries = route.max_retries,
          .srq = offer.srq,
          .extended_transport = connect.extended_transport,
          .primary = {.local_lid = kNoLid,
                      .remote_lid = kNoLid,
                      .local_gid = route.local,
                      .remote_gid = route.remote,
                      .flow_label = route.flow_label,
                      .traffic_class = route.traffic_class,
                      .hop_limit = route.hop_limit,
                      .local_ack_timeout = connect.local_ack_timeout},
          .private_data = private_data_of<92>(connect.private_data)};
}

}  // namespace

Expected<Communication*> ConnectionManager::start(const CmRoute& route, std::uint64_t cookie) {
  if (!port_.owns(route.local)) return refuse(ErrorCode::kInvalid, "route: not our address");
  if (route.remote.is_zero() || route.remote.is_multicast()) {
    return refuse(ErrorCode::kInvalid, "route: no address of a host");
  }
  if (route.local.is_ipv4() != route.remote.is_ipv4()) {
    return refuse(ErrorCode::kInvalid, "route: IPv4 and IPv6 do not meet");
  }
  if (route.flow_label > 0xf'ffff) {
    return refuse(ErrorCode::kInvalid, "route: flow label", route.flow_label, 0xf'ffff);
  }
  if (route.response_timeout > 31) {
    return refuse(ErrorCode::kInvalid, "route: response timeout", route.response_timeout, 31);
  }
  if (route.max_retries > 15) {
    return refuse(ErrorCode::kInvalid, "route: retries", route.max_retries, 15);
  }
  Communication* comm = make();
  if (comm == nullptr) {
    return refuse(ErrorCode::kLimit, "connect: too many", table_.size(),
                  config_.limits.max_connections);
  }
  table_.assign_id(*comm);
  comm->owned = true;
  comm->active = true;
  comm->cookie = cookie;
  comm->flow = {.source = route.local,
                .destination = route.remote,
                .traffic_class = route.traffic_class,
                .hop_limit = route.hop_limit};
  comm->timewait = ack_time(kUsualAckTimeout);
  comm->response_time = cm_time(route.response_timeout) + comm->timewait;
  comm->max_retries = route.max_retries;
  return comm;
}

Expected<CommHandle> ConnectionManager::listen(const CmListen& listen) {
  if (!listen.address.is_zero() && !port_.owns(listen.address)) {
    return refuse(ErrorCode::kInvalid, "listen: not our address");
  }
  if (!listen.address.is_zero() && listen.any_of != CmFamily::kBoth) {
    return refuse(ErrorCode::kInvalid, "listen: an address, and any");
  }
  if (table_.serves(listen)) {
    return refuse(ErrorCode::kBusy, "listen: the service has a listener already",
                  static_cast<std::uint64_t>(listen.service));
  }
  Communication* comm = make();
  if (comm == nullptr) {
    return refuse(ErrorCode::kLimit, "listen: too many", table_.size(),
                  config_.limits.max_connections);
  }
  comm->state = CommState::kListen;
  comm->owned = true;
  comm->cookie = listen.cookie;
  comm->service = listen.service;
  comm->address = listen.address;
  comm->any_of = listen.any_of;
  comm->backlog = listen.backlog == 0 ? kUsualBacklog : listen.backlog;
  table_.add_listener(*comm);
  return comm->handle;
}

Expected<CommHandle> ConnectionManager::connect(const CmConnect& connect) {
  if (const Status sound = check(connect); !sound) return Unexpected{sound.error()};
  const Expected<Communication*> started = start(connect.route, connect.cookie);
  if (!started) return Unexpected{started.error()};
  Communication& comm = **started;
  comm.local_qpn = connect.offer.qpn;
  comm.xrc = connect.transport == wire::CmTransport::kExtended;
  comm.timewait = ack_time(connect.local_ack_timeout);
  comm.response_time = cm_time(connect.route.response_timeout) + comm.timewait;
  wire::CmReq req = req_of(connect);
  req.local_comm_id = comm.local_id;
  req.local_ca_guid = config_.guid;
  req.pkey = port_.pkey(0).value_or(PKey{0xffff});
  comm.transaction = own_transaction(comm, req.kAttribute);
  send(comm, CommState::kReqSent, comm.transaction, req);
  return comm.handle;
}

Status ConnectionManager::accept(CommHandle id, const CmOffer& offer, Bytes private_data) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("accept: no such id");
  if (comm->state != CommState::kReqReceived && comm->state != CommState::kMraReqSent) {
    return refuse(ErrorCode::kInvalid, "accept: no request");
  }
  if (const Status sound = check(offer); !sound) return sound;
  if (private_data.size() > 196) {
    return refuse(ErrorCode::kInvalid, "accept: private data", private_data.size(), 196);
  }
  no_longer_pending(*comm);
  comm->local_qpn = offer.qpn;
  send(*comm, CommState::kRepSent, comm->transaction,
       wire::CmRep{.local_comm_id = comm->local_id,
                   .remote_comm_id = *comm->remote_id,
                   .local_qkey = offer.qkey,
                   .local_qpn = offer.qpn,
                   // For XRC QPs, Linux expects the QPN here.
                   .local_eecn = comm->xrc ? offer.qpn.value() : 0,
                   .starting_psn = offer.psn,
                   .responder_resources = offer.responder_resources,
                   .initiator_depth = offer.initiator_depth,
                   .target_ack_delay = kTargetAckDelay,
                   .end_to_end_flow_control = offer.end_to_end_flow_control,
                   .rnr_retry_count = offer.rnr_retry_count,
                   .srq = offer.srq,
                   .local_ca_guid = config_.guid,
                   .private_data = private_data_of<196>(private_data)});
  return Done{};
}

Status ConnectionManager::confirm(CommHandle id, Bytes private_data) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("confirm: no such id");
  if (comm->state != CommState::kRepReceived && comm->state != CommState::kMraRepSent) {
    return refuse(ErrorCode::kInvalid, "confirm: no reply");
  }
  if (private_data.size() > 224) {
    return refuse(ErrorCode::kInvalid, "confirm: private data", private_data.size(), 224);
  }
  send(*comm, CommState::kEstablished, comm->transaction,
       wire::CmRtu{.local_comm_id = comm->local_id,
                   .remote_comm_id = *comm->remote_id,
                   .private_data = private_data_of<224>(private_data)});
  return Done{};
}

Status ConnectionManager::reject(CommHandle id, wire::RejectReason reason, Bytes private_data) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("reject: no such id");
  if (!comm->is_connecting()) return refuse(ErrorCode::kInvalid, "reject: nothing to reject");
  if (private_data.size() > 148) {
    return refuse(ErrorCode::kInvalid, "reject: private data", private_data.size(), 148);
  }
  wire::CmRej rej = rejection(*comm, reason);
  rej.private_data = private_data_of<148>(private_data);
  send_final_reply(*comm, rej);
  return Done{};
}

Status ConnectionManager::delay(CommHandle id, std::uint8_t service_timeout) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("delay: no such id");
  if (service_timeout > 31) {
    return refuse(ErrorCode::kInvalid, "delay: service timeout", service_timeout, 31);
  }
  const bool request =
      comm->state == CommState::kReqReceived || comm->state == CommState::kMraReqSent;
  const bool reply =
      comm->state == CommState::kRepReceived || comm->state == CommState::kMraRepSent;
  if (!request && !reply) return refuse(ErrorCode::kInvalid, "delay: no peer waits for an answer");
  send(*comm, request ? CommState::kMraReqSent : CommState::kMraRepSent, comm->transaction,
       wire::CmMra{.local_comm_id = comm->local_id,
                   .remote_comm_id = *comm->remote_id,
                   .subject = request ? wire::CmSubject::kReq : wire::CmSubject::kRep,
                   .service_timeout = service_timeout});
  return Done{};
}

Status ConnectionManager::disconnect(CommHandle id, Bytes private_data) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("disconnect: no such id");
  const bool asked = comm->state == CommState::kDreqReceived;
  if (!asked && comm->state != CommState::kEstablished) {
    return refuse(ErrorCode::kInvalid, "disconnect: not connected");
  }
  const std::size_t room = asked ? 224 : 220;
  if (private_data.size() > room) {
    return refuse(ErrorCode::kInvalid, "disconnect: private data", private_data.size(), room);
  }
  if (asked) {
    answer_disconnect(*comm, comm->transaction, private_data);
  } else {
    begin_disconnect(*comm, private_data);
  }
  return Done{};
}

Status ConnectionManager::established(CommHandle id) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("established: no such id");
  if (comm->state == CommState::kRepSent || comm->state == CommState::kMraRepReceived) {
    establish(*comm, nullptr, {});
    return Done{};
  }
  if (comm->state == CommState::kEstablished) return Done{};
  return refuse(ErrorCode::kInvalid, "established: no reply sent");
}

Status ConnectionManager::set_cookie(CommHandle id, std::uint64_t cookie) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("set cookie: no such id");
  comm->cookie = cookie;
  return Done{};
}

Status ConnectionManager::seen(CommHandle id) {
  Communication* comm = table_.find(id);
  if (comm == nullptr) return no_such("seen: no such id");
  no_longer_pending(*comm);
  return Done{};
}

}  // namespace nerve::nic
