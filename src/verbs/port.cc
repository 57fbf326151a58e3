// Port attributes, and the tables of GIDs and partition keys.
#include "verbs/port.h"

#include <endian.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "host/devices/identity.h"
#include "verbs/address.h"
#include "verbs/lid.h"

namespace nerve::verbs {
namespace {

static_assert(host::kPortCapabilities == (IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS));

// A port reports its speed as width and speed per lane, encoded as in IBTA PortInfo.
constexpr std::uint8_t kWidth4x = 2;
struct Speed {
  std::uint64_t gigabits;  // of four lanes
  std::uint8_t code;
};
constexpr Speed kSpeeds[] = {{10, 1}, {20, 2}, {40, 4}, {56, 16}, {100, 32}, {200, 64}, {400, 128}};

std::uint8_t speed_code(Rate rate) {
  std::uint8_t code = kSpeeds[0].code;
  for (const Speed& speed : kSpeeds) {
    if (rate >= Rate::gigabits(speed.gigabits)) code = speed.code;
  }
  return code;
}

ibv_port_attr describe_port(VerbsContext& context) {
  constexpr std::uint8_t kPhysicalDisabled = 3;
  constexpr std::uint8_t kPhysicalLinkUp = 5;
  const Session session = query(*context.adapter);
  const nic::NicConfig& config = session->config();
  const bool active = session->port_active();
  ibv_port_attr attr{};
  attr.state = active ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
  attr.max_mtu = mtu_of(config.max_mtu);
  attr.active_mtu = mtu_of(std::min(config.max_mtu, context.adapter->device().active_mtu));
  attr.gid_tbl_len = static_cast<int>(config.gid_table_size);
  attr.port_cap_flags = host::kPortCapabilities;
  attr.max_msg_sz = config.limits.max_message;
  attr.bad_pkey_cntr = static_cast<std::uint32_t>(session->counters().dropped_bad_pkey);
  attr.qkey_viol_cntr = static_cast<std::uint32_t>(session->counters().dropped_bad_qkey);
  attr.lid = lid_of(session.nic());
  attr.pkey_tbl_len = static_cast<std::uint16_t>(config.pkeys.size());
  attr.max_vl_num = 1;
  attr.active_width = kWidth4x;
  attr.active_speed = speed_code(config.line_rate);
  attr.phys_state = active ? kPhysicalLinkUp : kPhysicalDisabled;
  attr.link_layer = IBV_LINK_LAYER_ETHERNET;
  attr.flags = IBV_QPF_GRH_REQUIRED;
  return attr;
}

// Returns 0 and a GID, ENODATA for an empty entry, or EINVAL if there is no such entry.
int find_gid(ibv_context* context, std::uint32_t port, std::uint32_t index, wire::Gid& gid) {
  if (check_live(context) != 0 || port != kPort) return EINVAL;
  const auto found = query(*ours(context).adapter)->query_gid(index);
  if (!found) return EINVAL;
  if (found->is_zero()) return ENODATA;
  gid = *found;
  return 0;
}

ibv_gid_entry entry_for(ibv_context* context, std::uint32_t index, const wire::Gid& gid) {
  return {.gid = gid_of(gid),
          .gid_index = index,
          .port_num = kPort,
          .gid_type = IBV_GID_TYPE_ROCE_V2,
          .ndev_ifindex = ours(context).adapter->device().interface_index};
}

}  // namespace

ibv_mtu mtu_of(nic::Mtu mtu) {
  return static_cast<ibv_mtu>(std::bit_width(nic::bytes(mtu)) - std::bit_width(256U) + IBV_MTU_256);
}

// Programs built with other headers have shorter or longer structures: fields they do not have are
// not written, fields we do not have are set to zero.
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr,
               std::size_t size) noexcept {
  if (check_live(context) != 0 || port != kPort) return fail(EINVAL);
  const ibv_port_attr known = describe_port(ours(context));
  std::memset(static_cast<void*>(attr), 0, size);
  std::memcpy(static_cast<void*>(attr), &known, std::min(size, sizeof known));
  return 0;
}

int compat_query_port(ibv_context* context, std::uint8_t port,
                      _compat_ibv_port_attr* attr) noexcept {
  return query_port(context, port, reinterpret_cast<ibv_port_attr*>(attr), kCompatPortAttrSize);
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

int ibv_query_port(ibv_context* context, uint8_t port, _compat_ibv_port_attr* attr) VERBS_NOEXCEPT {
  return compat_query_port(context, port, attr);
}

// In units of 100 Mb/s.
int ibv_query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed) VERBS_NOEXCEPT {
  if (check_live(context) != 0 || port != kPort) return fail(EINVAL);
  *speed = query(*ours(context).adapter)->config().line_rate.bits_per_second() / 100'000'000;
  return 0;
}

int ibv_query_gid(ibv_context* context, uint8_t port, int index, ibv_gid* gid) VERBS_NOEXCEPT {
  wire::Gid found;
  const int error = find_gid(context, port, static_cast<uint32_t>(index), found);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  *gid = gid_of(found);
  return 0;
}

int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index,
                       ibv_gid_type_sysfs* type) VERBS_NOEXCEPT {
  wire::Gid found;
  const int error = find_gid(context, port, index, found);
  if (error != 0 && error != ENODATA) {
    errno = error;
    return -1;
  }
  // The sysfs file of an empty entry cannot be read, which programs interpret as version 1.
  *type = error == 0 ? IBV_GID_TYPE_SYSFS_ROCE_V2 : IBV_GID_TYPE_SYSFS_IB_ROCE_V1;
  return 0;
}

int _ibv_query_gid_ex(ibv_context* context, uint32_t port, uint32_t index, ibv_gid_entry* entry,
                      uint32_t flags, size_t entry_size) VERBS_NOEXCEPT {
  if (flags != 0) return fail(EOPNOTSUPP);
  wire::Gid gid;
  if (const int error = find_gid(context, port, index, gid); error != 0) return fail(error);
  const ibv_gid_entry known = entry_for(context, index, gid);
  std::memset(static_cast<void*>(entry), 0, entry_size);
  std::memcpy(static_cast<void*>(entry), &known, std::min(entry_size, sizeof known));
  return 0;
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, size_t max_entries,
                             uint32_t flags, size_t entry_size) VERBS_NOEXCEPT {
  if (flags != 0) return -EOPNOTSUPP;
  if (check_live(context) != 0 || entry_size == 0) return -EINVAL;
  const uint32_t table = query(*ours(context).adapter)->config().gid_table_size;
  size_t filled = 0;
  for (uint32_t index = 0; index < table; ++index) {
    wire::Gid gid;
    if (find_gid(context, kPort, index, gid) != 0) continue;
    if (filled == max_entries) return -EINVAL;
    auto* out = reinterpret_cast<std::byte*>(entries) + filled++ * entry_size;
    const ibv_gid_entry known = entry_for(context, index, gid);
    std::memset(out, 0, entry_size);
    std::memcpy(out, &known, std::min(entry_size, sizeof known));
  }
  return static_cast<ssize_t>(filled);
}

int ibv_query_pkey(ibv_context* context, uint8_t port, int index, __be16* pkey) VERBS_NOEXCEPT {
  if (check_live(context) != 0) {
    errno = EINVAL;
    return -1;
  }
  const Session session = query(*ours(context).adapter);
  const auto& pkeys = session->config().pkeys;
  if (port != kPort || index < 0 || static_cast<size_t>(index) >= pkeys.size()) {
    errno = EINVAL;
    return -1;
  }
  *pkey = htobe16(pkeys[static_cast<size_t>(index)]);
  return 0;
}

int ibv_get_pkey_index(ibv_context* context, uint8_t port, __be16 pkey) VERBS_NOEXCEPT {
  __be16 known{};
  for (int index = 0; ibv_query_pkey(context, port, index, &known) == 0; ++index) {
    if (known == pkey) return index;
  }
  return -1;
}

}  // extern "C"
