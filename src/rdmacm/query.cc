// Queries on an identifier: its addresses, its device, its path.
#include <endian.h>

#include "rdmacm/command.h"
#include "rdmacm/path.h"

namespace nerve::rdmacm {
namespace {

constexpr std::uint16_t kPkey = 0xffff;

bool has_path(const Identifier& id) { return id.state >= IdState::kRouteResolved; }

const host::Device* device_of(const Identifier& id) {
  return id.port.adapter ? &id.port.adapter->device() : nullptr;
}

void copy_gid(const wire::Gid& from, std::uint8_t* to) { std::memcpy(to, from.bytes.data(), 16); }

ib_user_path_rec path_record(const Identifier& id) {
  ib_user_path_rec path{};
  copy_gid(id.remote_gid, path.dgid);
  copy_gid(id.port.gid, path.sgid);
  path.flow_label = htobe32(id.flow_label);
  path.reversible = 1;
  path.mtu = path_mtu_of(id);
  path.pkey = htobe16(kPkey);
  path.hop_limit = kHopLimit;
  path.traffic_class = id.options.traffic_class;
  path.numb_path = 1;
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kExactly;
  path.rate = kRate;
  path.packet_life_time = kPacketLifeTime;
  return path;
}

int query_addresses(const Command& command, const rdma_ucm_query& body, const Identifier& id) {
  rdma_ucm_query_addr_resp resp{};
  sockaddr_in6 name{};
  resp.src_size = write_address(id.local, name);
  std::memcpy(&resp.src_addr, &name, sizeof name);
  resp.dst_size = write_address(id.remote, name);
  std::memcpy(&resp.dst_addr, &name, sizeof name);
  resp.pkey = htobe16(kPkey);
  if (const host::Device* device = device_of(id)) {
    resp.node_guid = htobe64(device->node_guid);
    resp.ibdev_index = device->index;
    resp.port_num = 1;
  }
  return command.answer(body.response, resp);
}

}  // namespace

int query_route(const Command& command) {
  rdma_ucm_query body;  // without its last member, the option
  if (!command.read(body, offsetof(rdma_ucm_query, option))) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  const std::scoped_lock guard{command.registry.lock};
  rdma_ucm_query_route_resp resp{};
  write_address(id->local, resp.src_addr);
  write_address(id->remote, resp.dst_addr);
  if (const host::Device* device = device_of(*id)) {
    resp.node_guid = htobe64(device->node_guid);
    resp.ibdev_index = device->index;
    resp.port_num = 1;
    resp.ib_route[0] = path_record(*id);
    resp.num_paths = has_path(*id) ? 1 : 0;
  }
  return command.answer(body.response, resp);
}

int query(const Command& command) {
  rdma_ucm_query body;
  if (!command.read(body)) return EINVAL;
  const auto found = command.id(body.id);
  if (!found) return found.error();
  const auto& id = *found;
  const std::scoped_lock guard{command.registry.lock};
  // librdmacm queries GIDs and paths only if AF_IB is supported, which it is not.
  return body.option == RDMA_USER_CM_QUERY_ADDR ? query_addresses(command, body, *id) : ENOSYS;
}

}  // namespace nerve::rdmacm
