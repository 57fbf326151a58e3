// Device attributes.
#include "verbs/device_attributes.h"

#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "host/devices/identity.h"
#include "verbs/memory.h"

namespace nerve::verbs {
namespace {

// Not a real vendor: the letters "nrv" with the locally administered bit of an OUI.
constexpr std::uint32_t kVendor = 0x6e7276;
constexpr std::uint32_t kPart = 1;
constexpr std::uint32_t kHardware = 1;
// 4.096 us * 2^15, the same as Soft-RoCE: software may be preempted before it answers.
constexpr std::uint8_t kAckDelay = 15;

constexpr unsigned kCapabilities = IBV_DEVICE_BAD_PKEY_CNTR | IBV_DEVICE_BAD_QKEY_CNTR |
                                   IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT |
                                   IBV_DEVICE_SYS_IMAGE_GUID | IBV_DEVICE_RC_RNR_NAK_GEN |
                                   IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                                   IBV_DEVICE_MEM_MGT_EXTENSIONS | IBV_DEVICE_XRC;

int as_int(std::uint32_t value) { return static_cast<int>(value); }

ibv_device_attr describe(VerbsContext& context) {
  const Session session = query(*context.adapter);
  const nic::NicConfig& config = session->config();
  const nic::Limits& limits = config.limits;
  ibv_device_attr attr{};
  std::snprintf(attr.fw_ver, sizeof attr.fw_ver, "%s", host::kFirmware);
  attr.node_guid = ibv_get_device_guid(&context.device->device);
  attr.sys_image_guid = attr.node_guid;
  attr.max_mr_size = ~std::uint64_t{0};
  attr.page_size_cap = ~std::uint64_t{0xfff};
  attr.vendor_id = kVendor;
  attr.vendor_part_id = kPart;
  attr.hw_ver = kHardware;
  attr.max_qp = as_int(limits.max_qp);
  attr.max_qp_wr = as_int(limits.max_qp_wr);
  attr.device_cap_flags = kCapabilities;
  attr.max_sge = as_int(limits.max_sge);
  attr.max_sge_rd = as_int(limits.max_sge);
  attr.max_cq = as_int(limits.max_cq);
  attr.max_cqe = as_int(limits.max_cqe);
  attr.max_mr = as_int(limits.max_mr);
  attr.max_pd = as_int(limits.max_pd);
  attr.max_qp_rd_atom = as_int(limits.max_read_depth);
  attr.max_res_rd_atom = as_int(limits.max_read_depth * limits.max_qp);
  attr.max_qp_init_rd_atom = as_int(limits.max_read_depth);
  attr.atomic_cap = IBV_ATOMIC_HCA;
  attr.max_mw = as_int(limits.max_mw);
  attr.max_mcast_grp = as_int(limits.max_mcast_groups);
  attr.max_mcast_qp_attach = as_int(limits.max_mcast_qps);
  attr.max_total_mcast_qp_attach = as_int(limits.max_mcast_groups * limits.max_mcast_qps);
  attr.max_ah = as_int(limits.max_ah);
  attr.max_srq = as_int(limits.max_srq);
  attr.max_srq_wr = as_int(limits.max_srq_wr);
  attr.max_srq_sge = as_int(limits.max_sge);
  attr.max_pkeys = static_cast<std::uint16_t>(config.pkeys.size());
  attr.local_ca_ack_delay = kAckDelay;
  attr.phys_port_cnt = 1;
  return attr;
}

ibv_device_attr_ex describe_more(VerbsContext& context) {
  constexpr std::uint32_t kPaging = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV;
  constexpr std::uint32_t kPagingWrite = kPaging | IBV_ODP_SUPPORT_WRITE;
  constexpr std::uint32_t kPagingAll =
      kPagingWrite | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC | IBV_ODP_SUPPORT_SRQ_RECV;
  ibv_device_attr_ex attr{};
  attr.orig_attr = describe(context);
  // The engine accesses pages through the process's own mapping, so on-demand paging needs no
  // support.
  attr.odp_caps.general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
  attr.odp_caps.per_transport_caps = {
      .rc_odp_caps = kPagingAll, .uc_odp_caps = kPagingWrite, .ud_odp_caps = kPaging};
  attr.xrc_odp_caps = kPagingAll;
  attr.completion_timestamp_mask = ~std::uint64_t{0};
  attr.hca_core_clock = kClockKilohertz;
  attr.device_cap_flags_ex = attr.orig_attr.device_cap_flags;
  const Session session = query(*context.adapter);
  constexpr std::uint64_t kKilobit = 1000;
  const std::uint64_t line_rate = session->config().line_rate.bits_per_second() / kKilobit;
  attr.packet_pacing_caps = {.qp_rate_limit_min = 1,
                             .qp_rate_limit_max = static_cast<std::uint32_t>(
                                 std::min<std::uint64_t>(line_rate, ~std::uint32_t{0})),
                             .supported_qpts = 1U << IBV_QPT_RC};
  attr.cq_mod_caps = {.max_cq_count = 0xffff, .max_cq_period = 0xffff};
  attr.max_dm_size = kMaxDeviceMemory;
  attr.phys_port_cnt_ex = 1;
  return attr;
}

}  // namespace

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t size) noexcept {
  if (const int error = check_live(context); error != 0) return fail(error);
  if (input != nullptr && input->comp_mask != 0) return fail(EINVAL);
  if (size < sizeof(ibv_device_attr)) return fail(EINVAL);
  const ibv_device_attr_ex known = describe_more(ours(context));
  std::memset(static_cast<void*>(attr), 0, size);
  std::memcpy(static_cast<void*>(attr), &known, std::min(size, sizeof known));
  return 0;
}

int compat_query_device(ibv_context* context, ibv_device_attr* attr) noexcept {
  if (const int error = check_live(context); error != 0) return fail(error);
  *attr = describe(ours(context));
  return 0;
}

// The current time of the clock of completion timestamps. The count goes into tv_nsec, as for other
// devices; here it is in nanoseconds.
int query_rt_values(ibv_context* /*context*/, ibv_values_ex* values) noexcept {
  const std::uint32_t wanted = values->comp_mask;
  values->comp_mask = 0;
  if ((wanted & ~std::uint32_t{IBV_VALUES_MASK_RAW_CLOCK}) != 0) return EOPNOTSUPP;
  if (wanted == 0) return 0;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr long kBillion = 1'000'000'000;
  values->raw_clock = {.tv_sec = 0, .tv_nsec = now.tv_sec * kBillion + now.tv_nsec};
  values->comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  return 0;
}

}  // namespace nerve::verbs

extern "C" int ibv_query_device(ibv_context* context, ibv_device_attr* attr) VERBS_NOEXCEPT {
  return nerve::verbs::compat_query_device(context, attr);
}
