// Converts the engine's events to those of rdma_cm.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "nic/connection/connection_manager.h"
#include "rdmacm/registry.h"
#include "wire/ip_cm.h"

namespace nerve::rdmacm {
namespace {

// CM messages do not contain the length of their private data, so programs get all of it.
void copy_private(Bytes from, std::uint8_t* to, std::uint8_t& length) {
  length = static_cast<std::uint8_t>(std::min<std::size_t>(from.size(), RDMA_MAX_PRIVATE_DATA - 1));
  std::memcpy(to, from.data(), length);
}

rdma_ucm_event_resp connection_words(const wire::CmReq& req) {
  rdma_ucm_event_resp words{};
  rdma_ucm_conn_param& conn = words.param.conn;
  copy_private(Bytes{req.private_data}.subspan(wire::IpCmHeader::kSize), conn.private_data,
               conn.private_data_len);
  conn.qp_num = req.local_qpn.value();
  // The peer's initiator depth is our number of responder resources, and vice versa.
  conn.responder_resources = req.initiator_depth;
  conn.initiator_depth = req.responder_resources;
  conn.flow_control = req.end_to_end_flow_control ? 1 : 0;
  conn.retry_count = req.retry_count;
  conn.rnr_retry_count = req.rnr_retry_count;
  conn.srq = req.srq ? 1 : 0;
  return words;
}

rdma_ucm_event_resp connection_words(const wire::CmRep& rep) {
  rdma_ucm_event_resp words{};
  rdma_ucm_conn_param& conn = words.param.conn;
  copy_private(rep.private_data, conn.private_data, conn.private_data_len);
  conn.qp_num = rep.local_qpn.value();
  conn.responder_resources = rep.initiator_depth;
  conn.initiator_depth = rep.responder_resources;
  conn.flow_control = rep.end_to_end_flow_control ? 1 : 0;
  conn.rnr_retry_count = rep.rnr_retry_count;
  conn.srq = rep.srq ? 1 : 0;
  return words;
}

// True if the peer sent a message to disconnect. Otherwise it did not answer our DREQ.
bool was_confirmed(const nic::CmEvent& event) {
  return std::holds_alternative<wire::CmDreq>(event.message) ||
         std::holds_alternative<wire::CmDrep>(event.message) ||
         std::holds_alternative<wire::CmRej>(event.message);
}

}  // namespace

void Registry::post_event(const Identifier& id, EventKind kind, int status,
                          const rdma_ucm_event_resp* with) {
  // Before the program has set its name for the identifier, it could not match the event.
  if (id.channel == nullptr || id.uid == 0) return;
  Report report{.of = id.number};
  if (with != nullptr) report.words = *with;
  report.words.uid = id.uid;
  report.words.id = id.number;
  report.words.event = static_cast<std::uint32_t>(kind);
  report.words.status = static_cast<std::uint32_t>(status);
  id.channel->events.push(report);
}

void Registry::on_cm_event(host::Adapter& adapter, nic::Nic& nic, const nic::CmEvent& event) {
  const std::scoped_lock guard{lock};
  if (event.kind == nic::CmEventKind::kRequest || event.kind == nic::CmEventKind::kResolveRequest) {
    if (!take_request(adapter, event)) (void)nic.cm().destroy(event.id);
    return;
  }
  Identifier* const id = id_of(&adapter, event.id);
  if (id == nullptr) return;
  port_uses.end_request(*id);
  switch (event.kind) {
    case nic::CmEventKind::kReply:
      return take_reply(*id, std::get<wire::CmRep>(event.message));
    case nic::CmEventKind::kEstablished:
      id->state = IdState::kConnected;
      return post_event(*id, EventKind::kEstablished);
    case nic::CmEventKind::kRejected:
      return take_rejection(*id, std::get<wire::CmRej>(event.message));
    case nic::CmEventKind::kUnreachable:
      id->state = IdState::kOver;
      return post_event(*id, EventKind::kUnreachable, -ETIMEDOUT);
    case nic::CmEventKind::kDisconnectRequested:
    case nic::CmEventKind::kDisconnected:
      if (id->state == IdState::kDisconnected) return;
      id->state = IdState::kDisconnected;
      return post_event(*id, EventKind::kDisconnected, was_confirmed(event) ? 0 : -ETIMEDOUT);
    case nic::CmEventKind::kTimewaitOver:
      return post_event(*id, EventKind::kTimewaitExit);
    case nic::CmEventKind::kResolved:
      return take_resolution(*id, nic, std::get<wire::CmSidrRep>(event.message));
    case nic::CmEventKind::kRequest:
    case nic::CmEventKind::kResolveRequest:
      return;
  }
}

bool Registry::take_request(host::Adapter& adapter, const nic::CmEvent& event) {
  Identifier* const listener = id_of(&adapter, event.listener);
  if (listener == nullptr || listener->channel == nullptr) return false;
  const auto* const req = std::get_if<wire::CmReq>(&event.message);
  const auto* const sidr = std::get_if<wire::CmSidrReq>(&event.message);
  if (req == nullptr && sidr == nullptr) return false;
  const Bytes data = req != nullptr ? Bytes{req->private_data} : Bytes{sidr->private_data};
  const auto header = wire::IpCmHeader::decode(data);
  if (!header) return false;

  const auto id = ids.make();
  id->channel = listener->channel;
  id->space = listener->space;
  id->qp_type = listener->qp_type;
  id->options = listener->options;
  id->state = IdState::kRequested;
  id->local = {.address = header->destination, .port = listener->local.port};
  id->remote = {.address = header->source, .port = header->source_port};
  for (const auto& [port, comm] : listener->listens) {
    if (port.adapter.get() == &adapter) id->port.adapter = port.adapter;
  }
  id->port.gid = event.flow.destination;
  id->remote_gid = event.flow.source;
  id->receive_psn = draw_psn();
  id->comm = event.id;
  id->requested_by = req != nullptr ? req->local_comm_id : sidr->request_id;
  know(*id, &adapter, event.id);
  port_uses.begin_request(*id);

  Report report{.of = listener->number, .made = id->number};
  if (req != nullptr) {
    id->agreement = Agreement::with(*req);
    id->options.traffic_class = req->primary.traffic_class;
    id->flow_label = req->primary.flow_label;
    report.words = connection_words(*req);
  } else {
    rdma_ucm_ud_param& ud = report.words.param.ud;
    copy_private(data.subspan(wire::IpCmHeader::kSize), ud.private_data, ud.private_data_len);
  }
  report.words.uid = listener->uid;
  report.words.id = id->number;
  report.words.event = static_cast<std::uint32_t>(EventKind::kConnectRequest);
  listener->channel->events.push(report);
  return true;
}

void Registry::take_reply(Identifier& id, const wire::CmRep& rep) {
  id.state = IdState::kAnswered;
  id.agreement.complete(rep);
  const rdma_ucm_event_resp words = connection_words(rep);
  post_event(id, EventKind::kConnectResponse, 0, &words);
}

void Registry::take_rejection(Identifier& id, const wire::CmRej& rej) {
  id.state = IdState::kOver;
  rdma_ucm_event_resp words{};
  copy_private(rej.private_data, words.param.conn.private_data, words.param.conn.private_data_len);
  post_event(id, EventKind::kRejected, static_cast<int>(rej.reason), &words);
}

void Registry::take_resolution(Identifier& id, nic::Nic& nic, const wire::CmSidrRep& rep) {
  rdma_ucm_event_resp words{};
  rdma_ucm_ud_param& ud = words.param.ud;
  copy_private(rep.private_data, ud.private_data, ud.private_data_len);
  if (rep.status != wire::SidrStatus::kValid) {  // may include a reason as private data
    id.state = IdState::kOver;
    return post_event(id, EventKind::kUnreachable, static_cast<int>(rep.status), &words);
  }
  id.state = IdState::kConnected;
  ud.qp_num = rep.qpn.value();
  ud.qkey = rep.qkey;
  ud.ah_attr = path_to(id, id.remote_gid, gid_index_of(nic, id.port.gid));
  post_event(id, EventKind::kEstablished, 0, &words);
}

}  // namespace nerve::rdmacm
