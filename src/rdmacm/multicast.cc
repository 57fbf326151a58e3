// Multicast groups. On Ethernet no subnet administrator has to be asked: the group's address is its
// GID, and attaching a QP to it makes this machine a member.
#include "rdmacm/command.h"
#include "rdmacm/path.h"

namespace nerve::rdmacm {
namespace {

constexpr std::uint32_t kMulticastQpn = 0xff'ffff;

int join(const Command& command, std::uint32_t number, std::uint64_t uid, std::uint64_t response,
         Bytes sockaddr) {
  if (!command.has_room<rdma_ucm_create_id_resp>()) return ENOSPC;
  const auto group = read_address(sockaddr);
  if (!group) return why_no_address(sockaddr);
  if (!group->address.is_multicast()) return EINVAL;
  const auto found = command.id(number);
  if (!found) return found.error();
  const auto& id = *found;
  std::shared_ptr<host::Adapter> adapter;
  {
    const std::scoped_lock guard{command.registry.lock};
    adapter = id->port.adapter;
  }
  if (!adapter) return EINVAL;
  host::Adapter::Session session{*adapter, host::Adapter::Session::For::kControl};
  const std::scoped_lock guard{command.registry.lock};
  const auto membership = command.registry.memberships.make();
  membership->of = id->number;
  (void)command.answer(response, rdma_ucm_create_id_resp{.id = membership->number});
  Report report{.of = id->number, .multicast = membership->number};
  rdma_ucm_ud_param& ud = report.words.param.ud;
  ud.qp_num = kMulticastQpn;
  ud.qkey = id->qkey != 0 ? id->qkey : kUdpQkey;
  ud.ah_attr = path_to(*id, group->address, gid_index_of(session.nic(), id->port.gid));
  report.words.uid = uid;
  report.words.id = membership->number;
  report.words.event = static_cast<std::uint32_t>(EventKind::kMulticastJoin);
  id->channel->events.push(report);
  return 0;
}

}  // namespace

int join_ip_multicast(const Command& command) {
  rdma_ucm_join_ip_mcast body;
  if (!command.read(body)) return EINVAL;
  return join(command, body.id, body.uid, body.response, bytes_of(body.addr));
}

int join_multicast(const Command& command) {
  rdma_ucm_join_mcast body;
  if (!command.read(body) || body.addr_size > sizeof body.addr) return EINVAL;
  if (body.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
  return join(command, body.id, body.uid, body.response, bytes_of(body.addr).first(body.addr_size));
}

int leave_multicast(const Command& command) {
  rdma_ucm_destroy_id body;
  if (!command.read(body)) return EINVAL;
  if (!command.has_room<rdma_ucm_destroy_id_resp>()) return ENOSPC;
  rdma_ucm_destroy_id_resp resp{};
  {
    const std::scoped_lock guard{command.registry.lock};
    const auto membership = command.registry.memberships.find(body.id);
    if (!membership) return ENOENT;
    const auto id = command.registry.ids.find(membership->of);
    if (!id || id->channel != command.channel.get()) return EINVAL;
    command.channel->events.forget(
        [&](const Report& report) { return report.multicast == body.id; });
    resp.events_reported = membership->events_fetched;
    command.registry.memberships.erase(body.id);
  }
  return command.answer(body.response, resp);
}

}  // namespace nerve::rdmacm
