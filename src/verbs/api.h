// The public verbs header with default visibility, and functions that programs link to although no
// header of the distribution declares them.
#pragma once

#include <cstddef>

// GCC allows a definition to add noexcept to a declaration in a system header; Clang does not.
#ifdef __clang__
#define VERBS_NOEXCEPT
#else
#define VERBS_NOEXCEPT noexcept
#endif

#pragma GCC visibility push(default)
#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>
#include <rdma/ib_user_verbs.h>

// These are macros around the symbols of the same name.
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

// The largest structure that ibv_query_port@IBVERBS_1.1 may write: the original ibv_port_attr.
struct _compat_ibv_port_attr;
inline constexpr std::size_t kCompatPortAttrSize = 48;

// The names below are those of libibverbs.
// NOLINTBEGIN(readability-identifier-naming)
enum ibv_gid_type_sysfs { IBV_GID_TYPE_SYSFS_IB_ROCE_V1, IBV_GID_TYPE_SYSFS_ROCE_V2 };

// Types of later headers (IBVERBS_1.15 and up); opaque if we refuse them.
struct ibv_dmah;
struct ibv_dmah_init_attr;
struct ibv_buf;
struct ibv_comp_cntr;
struct ibv_comp_cntr_caps;
struct ibv_comp_cntr_init_attr;
struct ibv_qp_attach_comp_cntr_attr;

enum ibv_mr_init_attr_mask {
  IBV_REG_MR_MASK_IOVA = 1 << 0,
  IBV_REG_MR_MASK_ADDR = 1 << 1,
  IBV_REG_MR_MASK_FD = 1 << 2,
  IBV_REG_MR_MASK_FD_OFFSET = 1 << 3,
  IBV_REG_MR_MASK_DMAH = 1 << 4,
};

struct ibv_mr_init_attr {
  size_t length;
  int access;
  uint64_t comp_mask;
  uint64_t iova;
  void* addr;
  int fd;
  uint64_t fd_offset;
  struct ibv_dmah* dmah;
};

extern "C" {
void ibv_copy_ah_attr_from_kern(ibv_ah_attr* to, ib_uverbs_ah_attr* from) VERBS_NOEXCEPT;
void ibv_copy_qp_attr_from_kern(ibv_qp_attr* to, ib_uverbs_qp_attr* from) VERBS_NOEXCEPT;
void ibv_copy_path_rec_from_kern(ibv_sa_path_rec* to, ib_user_path_rec* from) VERBS_NOEXCEPT;
void ibv_copy_path_rec_to_kern(ib_user_path_rec* to, ibv_sa_path_rec* from) VERBS_NOEXCEPT;
const char* ibv_get_sysfs_path(void) VERBS_NOEXCEPT;
int ibv_read_sysfs_file(const char* directory, const char* file, char* buffer,
                        size_t size) VERBS_NOEXCEPT;
int ibv_dontfork_range(void* base, size_t size) VERBS_NOEXCEPT;
int ibv_dofork_range(void* base, size_t size) VERBS_NOEXCEPT;
int ibv_query_gid_type(ibv_context* context, uint8_t port, unsigned int index,
                       ibv_gid_type_sysfs* type) VERBS_NOEXCEPT;

ibv_dmah* ibv_alloc_dmah(ibv_context* context, ibv_dmah_init_attr* attr) VERBS_NOEXCEPT;
int ibv_dealloc_dmah(ibv_dmah* dmah) VERBS_NOEXCEPT;
ibv_mr* ibv_reg_mr_ex(ibv_pd* pd, ibv_mr_init_attr* attr) VERBS_NOEXCEPT;
int ibv_dm_export_dmabuf_fd(ibv_dm* dm) VERBS_NOEXCEPT;
int ibv_query_port_speed(ibv_context* context, uint32_t port, uint64_t* speed) VERBS_NOEXCEPT;
void* ibv_alloc_buf(ibv_pd* pd, size_t size, ibv_buf** buffer) VERBS_NOEXCEPT;
void ibv_free_buf(ibv_buf* buffer) VERBS_NOEXCEPT;
ibv_mr* ibv_reg_buf_mr(ibv_pd* pd, ibv_buf* buffer, void* address, size_t length,
                       int access) VERBS_NOEXCEPT;
int ibv_export_buf_dmabuf_fd(ibv_buf* buffer) VERBS_NOEXCEPT;
int _ibv_query_comp_cntr_caps(ibv_context* context, ibv_comp_cntr_caps* caps,
                              size_t size) VERBS_NOEXCEPT;
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* context,
                                    ibv_comp_cntr_init_attr* attr) VERBS_NOEXCEPT;
int ibv_destroy_comp_cntr(ibv_comp_cntr* counter) VERBS_NOEXCEPT;
int ibv_set_comp_cntr(ibv_comp_cntr* counter, uint64_t value) VERBS_NOEXCEPT;
int ibv_set_err_comp_cntr(ibv_comp_cntr* counter, uint64_t value) VERBS_NOEXCEPT;
int ibv_inc_comp_cntr(ibv_comp_cntr* counter, uint64_t amount) VERBS_NOEXCEPT;
int ibv_inc_err_comp_cntr(ibv_comp_cntr* counter, uint64_t amount) VERBS_NOEXCEPT;
int ibv_read_comp_cntr(ibv_comp_cntr* counter, uint64_t* value) VERBS_NOEXCEPT;
int ibv_read_err_comp_cntr(ibv_comp_cntr* counter, uint64_t* value) VERBS_NOEXCEPT;
int ibv_qp_attach_comp_cntr(ibv_qp* qp, ibv_comp_cntr* counter,
                            ibv_qp_attach_comp_cntr_attr* attr) VERBS_NOEXCEPT;
}
// NOLINTEND(readability-identifier-naming)
#pragma GCC visibility pop
