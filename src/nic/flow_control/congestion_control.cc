#include "nic/flow_control/congestion_control.h"

#include "nic/counters.h"
#include "nic/flow_control/dcqcn.h"
#include "nic/flow_control/hpcc.h"
#include "nic/flow_control/learned.h"
#include "nic/flow_control/nscc.h"
#include "nic/flow_control/swift.h"
#include "nic/flow_control/timely.h"

namespace nerve::nic {

std::unique_ptr<CongestionControl> make_congestion_control(const FlowControlConfig& config,
                                                           Rate line_rate,
                                                           std::uint32_t packet_bytes,
                                                           Counters& counters) {
  switch (config.algorithm) {
    case CcAlgorithm::kNone:
      return nullptr;
    case CcAlgorithm::kDcqcn:
      return std::make_unique<Dcqcn>(config.dcqcn, line_rate);
    case CcAlgorithm::kTimely:
      return std::make_unique<Timely>(config.timely, line_rate);
    case CcAlgorithm::kSwift:
      return std::make_unique<Swift>(config.swift, line_rate, packet_bytes);
    case CcAlgorithm::kHpcc:
      return std::make_unique<Hpcc>(config.hpcc, line_rate);
    case CcAlgorithm::kLearned:
      return std::make_unique<Learned>(config.learned, config.swift, line_rate, packet_bytes,
                                       counters.policy_fallbacks);
    case CcAlgorithm::kNscc:
      return std::make_unique<Nscc>(config.nscc, line_rate, packet_bytes);
  }
  return nullptr;
}

}  // namespace nerve::nic
