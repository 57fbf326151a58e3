// The tables through which verbs.h calls us. For null entries verbs.h returns EOPNOTSUPP.
#include "verbs/context.h"
#include "verbs/cq.h"
#include "verbs/device_attributes.h"
#include "verbs/memory.h"
#include "verbs/pd.h"
#include "verbs/port.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

namespace nerve::verbs {

void set_calls(verbs_context& face) {
  ibv_context_ops& ops = face.context.ops;
  ops._compat_query_device = compat_query_device;
  ops._compat_query_port = compat_query_port;
  ops.alloc_mw = alloc_mw;
  ops.bind_mw = bind_mw;
  ops.dealloc_mw = dealloc_mw;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.post_srq_recv = post_srq_recv;
  ops.post_send = post_send;
  ops.post_recv = post_recv;

  face.query_port = query_port;
  face.query_device_ex = query_device_ex;
  face.query_rt_values = query_rt_values;
  face.alloc_td = alloc_td;
  face.dealloc_td = dealloc_td;
  face.alloc_parent_domain = alloc_parent_domain;
  face.alloc_null_mr = alloc_null_mr;
  face.advise_mr = advise_mr;
  face.alloc_dm = alloc_dm;
  face.free_dm = free_dm;
  face.reg_dm_mr = reg_dm_mr;
  face.create_cq_ex = create_cq_ex;
  face.modify_cq = modify_cq;
  face.create_srq_ex = create_srq_ex;
  face.get_srq_num = get_srq_num;
  face.post_srq_ops = post_srq_ops;
  face.open_xrcd = open_xrcd;
  face.close_xrcd = close_xrcd;
  face.create_qp_ex = create_qp_ex;
  face.modify_qp_rate_limit = modify_qp_rate_limit;
}

}  // namespace nerve::verbs
