// The QP attributes for each transition, as the two ends have agreed.
#include <rdma/ib_user_verbs.h>

#include "rdmacm/command.h"
#include "rdmacm/path.h"

namespace nerve::rdmacm {
namespace {

// The numbers of the kernel and of libibverbs.
enum QpState : std::uint32_t { kInit = 1, kRtr = 2, kRts = 3 };
enum Attribute : std::uint32_t {
  kState = 1U << 0,
  kAccess = 1U << 3,
  kPkeyIndex = 1U << 4,
  kPort = 1U << 5,
  kQkey = 1U << 6,
  kAddress = 1U << 7,
  kPathMtu = 1U << 8,
  kTimeout = 1U << 9,
  kRetryCount = 1U << 10,
  kRnrRetry = 1U << 11,
  kRqPsn = 1U << 12,
  kMaxRead = 1U << 13,
  kRnrTimer = 1U << 15,
  kSqPsn = 1U << 16,
  kMaxDestRead = 1U << 17,
  kDestQp = 1U << 20,
};
enum Access : std::uint32_t { kRemoteWrite = 2, kRemoteRead = 4, kRemoteAtomic = 8 };

bool is_reliable(const Identifier& id) { return id.qp_type != kUcQp; }

void fill_init(const Identifier& id, ib_uverbs_qp_attr& attr) {
  attr.qp_attr_mask = kState | kPkeyIndex | kPort;
  attr.port_num = 1;
  if (id.datagram()) {
    attr.qp_attr_mask |= kQkey;
    attr.qkey = id.qkey != 0 ? id.qkey : kUdpQkey;
    return;
  }
  attr.qp_attr_mask |= kAccess;
  if (!id.comm) return;
  attr.qp_access_flags = kRemoteWrite;
  if (id.agreement.responder_resources > 0) attr.qp_access_flags |= kRemoteRead | kRemoteAtomic;
}

void fill_ready_to_receive(const Identifier& id, nic::Nic& nic, ib_uverbs_qp_attr& attr) {
  attr.qp_attr_mask = kState | kAddress | kPathMtu | kDestQp | kRqPsn;
  attr.ah_attr = path_to(id, id.remote_gid, gid_index_of(nic, id.port.gid));
  attr.path_mtu = id.agreement.path_mtu;
  attr.dest_qp_num = id.agreement.remote_qpn.value();
  attr.rq_psn = id.receive_psn.value();
  if (!is_reliable(id)) return;
  attr.qp_attr_mask |= kMaxDestRead | kRnrTimer;
  attr.max_dest_rd_atomic = id.agreement.responder_resources;
  attr.min_rnr_timer = kMinRnrTimer;
}

}  // namespace

ib_uverbs_qp_attr ready_to_send(const Identifier& id) {
  ib_uverbs_qp_attr attr{};
  attr.qp_state = kRts;
  attr.qp_attr_mask = kState | kSqPsn;
  attr.sq_psn = id.agreement.send_psn.value();
  if (!is_reliable(id)) return attr;
  attr.qp_attr_mask |= kTimeout | kRetryCount | kRnrRetry | kMaxRead;
  attr.timeout = id.agreement.timeout;
  attr.retry_cnt = id.agreement.retry_count;
  attr.rnr_retry = id.agreement.rnr_retry;
  attr.max_rd_atomic = id.agreement.initiator_depth;
  return attr;
}

std::uint8_t gid_index_of(nic::Nic& nic, const wire::Gid& gid) {
  for (std::uint32_t i = 0; i < host::kGidTableSize; ++i) {
    const auto entry = nic.query_gid(i);
    if (entry && *entry == gid) return static_cast<std::uint8_t>(i);
  }
  return 0;
}

ib_uverbs_ah_attr path_to(const Identifier& id, const wire::Gid& gid, std::uint8_t gid_index) {
  ib_uverbs_ah_attr path{};
  std::memcpy(path.grh.dgid, gid.bytes.data(), sizeof path.grh.dgid);
  path.grh.sgid_index = gid_index;
  path.grh.hop_limit = kHopLimit;
  path.grh.traffic_class = id.options.traffic_class;
  path.grh.flow_label = id.flow_label;
  path.is_global = 1;
  path.port_num = 1;
  return path;
}

int init_qp_attr(const Command& command) {
  rdma_ucm_init_qp_attr body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  std::shared_ptr<host::Adapter> adapter;
  {
    const std::scoped_lock guard{command.registry.lock};
    adapter = id->port.adapter;
  }
  if (!adapter) return EINVAL;
  ib_uverbs_qp_attr attr{};
  attr.qp_state = body.qp_state;
  {
    host::Adapter::Session session{*adapter, host::Adapter::Session::For::kControl};
    const std::scoped_lock guard{command.registry.lock};
    switch (body.qp_state) {
      case kInit:
        fill_init(*id, attr);
        break;
      case kRtr:
        if (id->datagram() || !id->comm) return EINVAL;
        fill_ready_to_receive(*id, session.nic(), attr);
        break;
      case kRts:
        if (id->datagram() || !id->comm) return EINVAL;
        attr = ready_to_send(*id);
        break;
      default:
        return EINVAL;
    }
  }
  return command.answer(body.response, attr);
}

}  // namespace nerve::rdmacm
