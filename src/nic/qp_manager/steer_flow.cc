#include <algorithm>

#include "nic/ethernet/port.h"
#include "nic/qp_manager/qp_manager.h"

namespace nerve::nic {

void QpManager::redirect(Qp& qp, std::uint32_t flow_label) {
  qp.attributes.path.flow_label = flow_label;
  qp.flow.flow_label = flow_label;
  qp.flow.source_port = source_port(flow_label, qp.qpn, qp.peer);
}

// Nobody else can raise the limit that the program has set.
void QpManager::limit_rate(Qp& qp) {
  const Rate program = qp.program_rate;
  const Rate steered = qp.steered_rate;
  const bool both = program > Rate{} && steered > Rate{};
  qp.attributes.rate_limit = both ? std::min(program, steered) : std::max(program, steered);
}

Expected<bool> QpManager::steer_flow(Qpn qpn, Qpn peer, const FlowSteering& steering) {
  Qp* const qp = qps_.find(qpn);
  if (qp == nullptr || !qp->connected() || !qp->can_receive() || qp->peer != peer) {
    return refuse(ErrorCode::kNoSuchObject, "steer flow: no QP is connected with this peer");
  }
  const std::uint16_t port = steering.source_port;
  const auto label = flow_label_for(port);
  if (port != 0 && !label) {
    return refuse(ErrorCode::kInvalid, "steer flow: a source port that RoCEv2 does not use", port,
                  kFirstSourcePort);
  }
  qp->steered_rate =
      steering.rate_limit > Rate{} ? std::max(steering.rate_limit, kLeastSteeredRate) : Rate{};
  limit_rate(*qp);
  if (port == 0 || port == qp->flow.source_port) return false;
  redirect(*qp, *label);
  return true;
}

}  // namespace nerve::nic
