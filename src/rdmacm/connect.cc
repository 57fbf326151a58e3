// Connections: connect, accept, reject, disconnect; UD service resolution works the same way.
#include <algorithm>
#include <array>

#include "nic/connection/connection_manager.h"
#include "rdmacm/command.h"
#include "rdmacm/path.h"
#include "wire/ip_cm.h"

namespace nerve::rdmacm {
namespace {

using Session = host::Adapter::Session;

constexpr std::uint8_t kMaxRetries = 7;
constexpr std::uint8_t kXrcSendQp = 9;

Bytes private_data_of(const rdma_ucm_conn_param& param) {
  return {reinterpret_cast<const std::byte*>(param.private_data), param.private_data_len};
}

int errno_of(const nic::Error& error) {
  switch (error.code) {
    case nic::ErrorCode::kLimit:
    case nic::ErrorCode::kQueueFull:
      return ENOMEM;
    case nic::ErrorCode::kNotSupported:
      return EOPNOTSUPP;
    default:
      return EINVAL;
  }
}

// The header of annex A11, followed by the program's private data.
struct RequestData {
  std::array<std::byte, 216> bytes{};
  std::size_t size{};

  RequestData(const Identifier& id, Bytes payload) {
    wire::IpCmHeader{
        .source_port = id.local.port, .source = id.local.address, .destination = id.remote.address}
        .encode(
            std::span<std::byte, wire::IpCmHeader::kSize>{bytes.data(), wire::IpCmHeader::kSize});
    size = std::min(wire::IpCmHeader::kSize + payload.size(), bytes.size());
    std::copy_n(payload.begin(), size - wire::IpCmHeader::kSize,
                bytes.begin() + wire::IpCmHeader::kSize);
  }
  [[nodiscard]] Bytes private_data() const { return Bytes{bytes}.first(size); }
};

nic::CmRoute route_of(const Identifier& id) {
  return {.local = id.port.gid,
          .remote = id.remote_gid,
          .traffic_class = id.options.traffic_class,
          .hop_limit = kHopLimit,
          .flow_label = id.flow_label};
}

nic::CmOffer offer_of(const Identifier& id, const rdma_ucm_conn_param& param) {
  return {.qpn = Qpn{param.qp_num & Qpn::kMask},
          .psn = id.receive_psn,
          .qkey = param.qkey,
          .responder_resources = param.responder_resources,
          .initiator_depth = param.initiator_depth,
          .rnr_retry_count = std::min(param.rnr_retry_count, kMaxRetries),
          .end_to_end_flow_control = param.flow_control != 0,
          .srq = param.srq != 0};
}

nic::Expected<nic::CommHandle> send_request(Session& session, Identifier& id,
                                            const rdma_ucm_conn_param& param,
                                            const RequestData& data) {
  const wire::ServiceId service = service_of(id.space, id.remote.port);
  id.qpn = Qpn{param.qp_num & Qpn::kMask};
  if (id.datagram()) {
    return session->cm().resolve(
        {.route = route_of(id), .service = service, .private_data = data.private_data()});
  }
  // Used both for the REQ and for our own QP.
  id.agreement.path_mtu = path_mtu_of(id);
  id.agreement.timeout = id.options.ack_timeout.value_or(kAckTimeout);
  id.agreement.retry_count = std::min(param.retry_count, kMaxRetries);
  const bool xrc = id.qp_type == kXrcSendQp;
  return session->cm().connect({.route = route_of(id),
                                .service = service,
                                .offer = offer_of(id, param),
                                .transport = xrc                   ? wire::CmTransport::kExtended
                                             : id.qp_type == kUcQp ? wire::CmTransport::kUc
                                                                   : wire::CmTransport::kRc,
                                .extended_transport = xrc ? wire::CmExtendedTransport::kXrc
                                                          : wire::CmExtendedTransport::kNone,
                                .path_mtu = id.agreement.path_mtu,
                                .retry_count = id.agreement.retry_count,
                                .local_ack_timeout = id.agreement.timeout,
                                .private_data = data.private_data()});
}

// Runs `act` on the engine with both locks held; EINVAL if the identifier has no device.
template <class Act>
int with_engine(const Command& command, const Identifier& id, Act act) {
  std::shared_ptr<host::Adapter> adapter;
  {
    const std::scoped_lock guard{command.registry.lock};
    adapter = id.port.adapter;
  }
  if (!adapter) return EINVAL;
  Session session{*adapter, Session::For::kControl};
  const std::scoped_lock guard{command.registry.lock};
  return act(session);
}

// Like with_engine(), for the answer to a request. The path to the requester is opened first, so
// that the answer leaves at once: a process that exits right after answering sends nothing later.
template <class Act>
int with_requester(const Command& command, const Identifier& id, Act act) {
  std::shared_ptr<host::Adapter> adapter;
  {
    const std::scoped_lock guard{command.registry.lock};
    if (id.state == IdState::kRequested) adapter = id.port.adapter;
  }
  if (adapter) adapter->reach_comm(id.remote_gid, id.requested_by);
  return with_engine(command, id, act);
}

int result_of(const nic::Status& status) { return status ? 0 : errno_of(status.error()); }

int answer_request(Session& session, Identifier& id, const rdma_ucm_conn_param& param) {
  id.qpn = Qpn{param.qp_num & Qpn::kMask};
  if (!id.datagram()) {
    id.agreement.responder_resources = param.responder_resources;
    id.agreement.initiator_depth = param.initiator_depth;
    const int error =
        result_of(session->cm().accept(id.comm, offer_of(id, param), private_data_of(param)));
    if (error == 0) id.state = IdState::kAccepted;
    return error;
  }
  id.qkey = param.qkey != 0 ? param.qkey : kUdpQkey;
  const int error =
      result_of(session->cm().resolved(id.comm, {.status = wire::SidrStatus::kValid,
                                                 .qpn = Qpn{param.qp_num & Qpn::kMask},
                                                 .qkey = id.qkey,
                                                 .private_data = private_data_of(param)}));
  if (error == 0) id.state = IdState::kConnected;
  return error;
}

}  // namespace

int connect(const Command& command) {
  rdma_ucm_connect body;
  if (!command.read(body, offsetof(rdma_ucm_connect, ece)) || body.conn_param.valid == 0) {
    return EINVAL;
  }
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  const Bytes private_data = private_data_of(body.conn_param);
  const std::size_t room = (id->datagram() ? 216 : 92) - wire::IpCmHeader::kSize;
  if (private_data.size() > room) return EINVAL;
  std::shared_ptr<host::Adapter> adapter;
  {
    const std::scoped_lock guard{command.registry.lock};
    if (id->state != IdState::kRouteResolved) return EINVAL;
    id->state = IdState::kAsked;
    adapter = id->port.adapter;
  }
  adapter->reach_service(id->remote_gid, service_of(id->space, id->remote.port));
  return with_engine(command, *id, [&](Session& session) {
    const auto comm = send_request(session, *id, body.conn_param, RequestData{*id, private_data});
    if (!comm) {
      id->state = IdState::kRouteResolved;
      return errno_of(comm.error());
    }
    id->comm = *comm;
    command.registry.know(*id, id->port.adapter.get(), *comm);
    return 0;
  });
}

int accept(const Command& command) {
  rdma_ucm_accept body;
  if (!command.read(body, offsetof(rdma_ucm_accept, ece))) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  return with_requester(command, *id, [&](Session& session) {
    if (body.conn_param.valid == 0) {  // the program has moved its QP to RTS after a REP
      if (id->state != IdState::kAnswered) return EINVAL;
      const int error = result_of(session->cm().confirm(id->comm, {}));
      if (error == 0) id->state = IdState::kConnected;
      return error;
    }
    if (id->state != IdState::kRequested) return EINVAL;
    // Set before the answer is sent, because later events are reported under this name.
    id->uid = body.uid;
    const int error = answer_request(session, *id, body.conn_param);
    if (error != 0) id->uid = 0;
    return error;
  });
}

int reject(const Command& command) {
  rdma_ucm_reject body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  const Bytes private_data{reinterpret_cast<const std::byte*>(body.private_data),
                           body.private_data_len};
  return with_requester(command, *id, [&](Session& session) {
    if (id->state != IdState::kRequested && id->state != IdState::kAnswered) return EINVAL;
    id->state = IdState::kOver;
    if (id->datagram()) {
      return result_of(session->cm().resolved(
          id->comm,
          {.status = wire::SidrStatus::kRejected, .qpn = {}, .private_data = private_data}));
    }
    const auto reason = body.reason == 0 ? wire::RejectReason::kConsumer
                                         : static_cast<wire::RejectReason>(body.reason);
    return result_of(session->cm().reject(id->comm, reason, private_data));
  });
}

int disconnect(const Command& command) {
  rdma_ucm_disconnect body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  return with_engine(command, *id, [&](Session& session) {
    if (!id->comm) return EINVAL;
    // Disconnecting a connection that is not or no longer established succeeds, as in Linux.
    (void)session->cm().disconnect(id->comm, {});
    return 0;
  });
}

int notify(const Command& command) {
  constexpr std::uint32_t kCommunicationEstablished = 4;  // IB_EVENT_COMM_EST
  rdma_ucm_notify body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  return with_engine(command, *id, [&](Session& session) {
    if (!id->comm || body.event != kCommunicationEstablished) return EINVAL;
    return result_of(session->cm().established(id->comm));
  });
}

}  // namespace nerve::rdmacm
