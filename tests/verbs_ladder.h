// Moves a QP through INIT, RTR and RTS by ibv_modify_qp. Public verbs only, so that it also runs on
// other RDMA devices. tests/qp_ladder.h does the same for a QP of the engine.
#pragma once

#include <infiniband/verbs.h>

#include <cerrno>
#include <initializer_list>

namespace verbs_test {

// The mask of the step to `to`: the attributes that an RC, UC or UD QP requires (IBTA 11.2.5.2).
inline int required_attrs(ibv_qp_type type, ibv_qp_state to) {
  const bool datagram = type == IBV_QPT_UD;
  const bool reliable = !datagram && type != IBV_QPT_UC;
  int mask = IBV_QP_STATE;
  if (to == IBV_QPS_INIT) {
    mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | (datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
  } else if (to == IBV_QPS_RTR) {
    if (!datagram) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (reliable) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  } else if (to == IBV_QPS_RTS) {
    mask |= IBV_QP_SQ_PSN;
    if (reliable) {
      mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    }
  }
  return mask;
}

// All steps from the state that the QP was last set to (RESET, INIT or RTR) up to `to`. Returns
// zero, or the error of the first step that fails, which is also in errno.
inline int bring_qp_to(ibv_qp* qp, ibv_qp_state to, ibv_qp_attr attr) {
  for (const ibv_qp_state next : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) {
    if (next > to || (qp->state <= IBV_QPS_RTS && next <= qp->state)) continue;
    attr.qp_state = next;
    errno = ibv_modify_qp(qp, &attr, required_attrs(qp->qp_type, next));
    if (errno != 0) return errno;
  }
  return 0;
}

}  // namespace verbs_test
