#include "nic/flow_control/congestion_control.h"

#include "nic/flow_control/dcqcn.h"

namespace nerve::nic {

std::unique_ptr<CongestionControl> make_congestion_control(const FlowControlConfig& config,
                                                           Rate line_rate) {
  switch (config.algorithm) {
    case CcAlgorithm::kNone:
      return nullptr;
    case CcAlgorithm::kDcqcn:
      return std::make_unique<Dcqcn>(config.dcqcn, line_rate);
  }
  return nullptr;
}

}  // namespace nerve::nic
