// Verbs of releases after rdma-core 44 that a software NIC cannot support. They exist so that
// programs link, and return EOPNOTSUPP.
#include <cerrno>

#include "verbs/context.h"

using nerve::verbs::none;

extern "C" {

// TLP steering tags (PCI Express).
ibv_dmah* ibv_alloc_dmah(ibv_context* /*context*/, ibv_dmah_init_attr* /*attr*/) VERBS_NOEXCEPT {
  return none(EOPNOTSUPP);
}
int ibv_dealloc_dmah(ibv_dmah* /*dmah*/) VERBS_NOEXCEPT { return EOPNOTSUPP; }

// Buffers that can be exported as dma-bufs.
void* ibv_alloc_buf(ibv_pd* /*pd*/, size_t /*size*/, ibv_buf** /*buffer*/) VERBS_NOEXCEPT {
  return none(EOPNOTSUPP);
}
void ibv_free_buf(ibv_buf* /*buffer*/) VERBS_NOEXCEPT {}
ibv_mr* ibv_reg_buf_mr(ibv_pd* /*pd*/, ibv_buf* /*buffer*/, void* /*address*/, size_t /*length*/,
                       int /*access*/) VERBS_NOEXCEPT {
  return none(EOPNOTSUPP);
}
int ibv_export_buf_dmabuf_fd(ibv_buf* /*buffer*/) VERBS_NOEXCEPT {
  errno = EOPNOTSUPP;
  return -1;
}

// Completion counters.
int _ibv_query_comp_cntr_caps(ibv_context* /*context*/, ibv_comp_cntr_caps* /*caps*/,
                              size_t /*size*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
ibv_comp_cntr* ibv_create_comp_cntr(ibv_context* /*context*/,
                                    ibv_comp_cntr_init_attr* /*attr*/) VERBS_NOEXCEPT {
  return none(EOPNOTSUPP);
}
int ibv_destroy_comp_cntr(ibv_comp_cntr* /*counter*/) VERBS_NOEXCEPT { return EOPNOTSUPP; }
int ibv_set_comp_cntr(ibv_comp_cntr* /*counter*/, uint64_t /*value*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
int ibv_set_err_comp_cntr(ibv_comp_cntr* /*counter*/, uint64_t /*value*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
int ibv_inc_comp_cntr(ibv_comp_cntr* /*counter*/, uint64_t /*amount*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
int ibv_inc_err_comp_cntr(ibv_comp_cntr* /*counter*/, uint64_t /*amount*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
int ibv_read_comp_cntr(ibv_comp_cntr* /*counter*/, uint64_t* /*value*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
int ibv_read_err_comp_cntr(ibv_comp_cntr* /*counter*/, uint64_t* /*value*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}
int ibv_qp_attach_comp_cntr(ibv_qp* /*qp*/, ibv_comp_cntr* /*counter*/,
                            ibv_qp_attach_comp_cntr_attr* /*attr*/) VERBS_NOEXCEPT {
  return EOPNOTSUPP;
}

}  // extern "C"
