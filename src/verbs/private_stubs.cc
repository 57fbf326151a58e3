// Symbols that must exist for programs to load, but that cannot work here.
//
// Provider libraries of vendors (libmlx5, libefa), which perftest, UCX and others link with
// immediate binding, use the private interface of libibverbs, which talks to a kernel driver.
// Programs older than 2007 use the first version of each verb. Both kinds of calls fail with
// EOPNOTSUPP.
#include <cerrno>
#include <cstdint>

#include "verbs/api.h"

// Declared without parameters, because they are not read: the caller cleans up its own arguments.
#define REFUSED(name) \
  int name() noexcept { return EOPNOTSUPP; }

#pragma GCC visibility push(default)
extern "C" {

// clang-format off
REFUSED(ibv_cmd_advise_mr)
REFUSED(ibv_cmd_alloc_dm)
REFUSED(ibv_cmd_alloc_mw)
REFUSED(ibv_cmd_alloc_pd)
REFUSED(ibv_cmd_attach_mcast)
REFUSED(ibv_cmd_close_xrcd)
REFUSED(ibv_cmd_create_ah)
REFUSED(ibv_cmd_create_counters)
REFUSED(ibv_cmd_create_cq)
REFUSED(ibv_cmd_create_cq_ex)
REFUSED(ibv_cmd_create_cq_ex2)
REFUSED(ibv_cmd_create_flow)
REFUSED(ibv_cmd_create_flow_action_esp)
REFUSED(ibv_cmd_create_qp)
REFUSED(ibv_cmd_create_qp_ex)
REFUSED(ibv_cmd_create_qp_ex2)
REFUSED(ibv_cmd_create_rwq_ind_table)
REFUSED(ibv_cmd_create_srq)
REFUSED(ibv_cmd_create_srq_ex)
REFUSED(ibv_cmd_create_wq)
REFUSED(ibv_cmd_dealloc_mw)
REFUSED(ibv_cmd_dealloc_pd)
REFUSED(ibv_cmd_dereg_mr)
REFUSED(ibv_cmd_destroy_ah)
REFUSED(ibv_cmd_destroy_counters)
REFUSED(ibv_cmd_destroy_cq)
REFUSED(ibv_cmd_destroy_flow)
REFUSED(ibv_cmd_destroy_flow_action)
REFUSED(ibv_cmd_destroy_qp)
REFUSED(ibv_cmd_destroy_rwq_ind_table)
REFUSED(ibv_cmd_destroy_srq)
REFUSED(ibv_cmd_destroy_wq)
REFUSED(ibv_cmd_detach_mcast)
REFUSED(ibv_cmd_free_dm)
REFUSED(ibv_cmd_get_context)
REFUSED(ibv_cmd_modify_cq)
REFUSED(ibv_cmd_modify_flow_action_esp)
REFUSED(ibv_cmd_modify_qp)
REFUSED(ibv_cmd_modify_qp_ex)
REFUSED(ibv_cmd_modify_srq)
REFUSED(ibv_cmd_modify_wq)
REFUSED(ibv_cmd_open_qp)
REFUSED(ibv_cmd_open_xrcd)
REFUSED(ibv_cmd_poll_cq)
REFUSED(ibv_cmd_post_recv)
REFUSED(ibv_cmd_post_send)
REFUSED(ibv_cmd_post_srq_recv)
REFUSED(ibv_cmd_query_context)
REFUSED(ibv_cmd_query_device_any)
REFUSED(ibv_cmd_query_mr)
REFUSED(ibv_cmd_query_port)
REFUSED(ibv_cmd_query_qp)
REFUSED(ibv_cmd_query_srq)
REFUSED(ibv_cmd_read_counters)
REFUSED(ibv_cmd_reg_dm_mr)
REFUSED(ibv_cmd_reg_dmabuf_mr)
REFUSED(ibv_cmd_reg_mr)
REFUSED(ibv_cmd_req_notify_cq)
REFUSED(ibv_cmd_rereg_mr)
REFUSED(ibv_cmd_resize_cq)
// clang-format on
REFUSED(execute_ioctl)

// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier): names of libibverbs
unsigned int __ioctl_final_num_attrs(unsigned int count, void* /*link*/) noexcept { return count; }
void __verbs_log(void* /*context*/, std::uint32_t /*level*/, const char* /*format*/, ...) noexcept {
}
void* _verbs_init_and_alloc_context() noexcept {
  errno = EOPNOTSUPP;
  return nullptr;
}
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier)
void* verbs_open_device() noexcept {
  errno = EOPNOTSUPP;
  return nullptr;
}
int ibv_read_ibdev_sysfs_file() noexcept { return -1; }
// For the traces of providers, which post nothing here. Newer headers declare it with a parameter,
// so it has another name in C++.
const char* wr_opcode_name() noexcept __asm__("ibv_wr_opcode_str");
const char* wr_opcode_name() noexcept { return "unknown"; }
// Providers register themselves when they are loaded. This does nothing.
void verbs_register_driver_34() noexcept {}
void verbs_init_cq() noexcept {}
void verbs_set_ops() noexcept {}
void verbs_uninit_context() noexcept {}
// Whether a provider may free objects of a device that is gone: providers read it, nothing sets it.
bool verbs_allow_disassociate_destroy = false;

void ibv_register_driver_1_1() noexcept {}
int legacy_int() noexcept { return EOPNOTSUPP; }
void* legacy_pointer() noexcept {
  errno = EOPNOTSUPP;
  return nullptr;
}

}  // extern "C"
#pragma GCC visibility pop

#define VERSION_1_0(stub, name) __asm__(".symver " #stub "," #name "@IBVERBS_1.0");

// clang-format off
__asm__(".symver ibv_register_driver_1_1,ibv_register_driver@IBVERBS_1.1");
VERSION_1_0(legacy_pointer, ibv_ack_async_event)
VERSION_1_0(legacy_pointer, ibv_ack_cq_events)
VERSION_1_0(legacy_pointer, ibv_alloc_pd)
VERSION_1_0(legacy_int, ibv_attach_mcast)
VERSION_1_0(legacy_int, ibv_close_device)
VERSION_1_0(legacy_pointer, ibv_create_ah)
VERSION_1_0(legacy_pointer, ibv_create_cq)
VERSION_1_0(legacy_pointer, ibv_create_qp)
VERSION_1_0(legacy_pointer, ibv_create_srq)
VERSION_1_0(legacy_int, ibv_dealloc_pd)
VERSION_1_0(legacy_int, ibv_dereg_mr)
VERSION_1_0(legacy_int, ibv_destroy_ah)
VERSION_1_0(legacy_int, ibv_destroy_cq)
VERSION_1_0(legacy_int, ibv_destroy_qp)
VERSION_1_0(legacy_int, ibv_destroy_srq)
VERSION_1_0(legacy_int, ibv_detach_mcast)
VERSION_1_0(legacy_pointer, ibv_free_device_list)
VERSION_1_0(legacy_int, ibv_get_async_event)
VERSION_1_0(legacy_int, ibv_get_cq_event)
VERSION_1_0(legacy_pointer, ibv_get_device_guid)
VERSION_1_0(legacy_pointer, ibv_get_device_list)
VERSION_1_0(legacy_pointer, ibv_get_device_name)
VERSION_1_0(legacy_int, ibv_modify_qp)
VERSION_1_0(legacy_int, ibv_modify_srq)
VERSION_1_0(legacy_pointer, ibv_open_device)
VERSION_1_0(legacy_int, ibv_query_device)
VERSION_1_0(legacy_int, ibv_query_gid)
VERSION_1_0(legacy_int, ibv_query_pkey)
VERSION_1_0(legacy_int, ibv_query_port)
VERSION_1_0(legacy_int, ibv_query_qp)
VERSION_1_0(legacy_int, ibv_query_srq)
VERSION_1_0(legacy_pointer, ibv_reg_mr)
VERSION_1_0(legacy_int, ibv_resize_cq)
// clang-format on
