// The flows of this host as the agent sees them, and when they are worth a report.
#pragma once

#include <chrono>
#include <vector>

#include "controller/messages.h"
#include "host/steering.h"

namespace nerve::cli {

class AgentFlows {
 public:
  // Takes what the processes have answered. The flows of those that have not are as before.
  void take(const host::FlowsOfHost& host);

  [[nodiscard]] const std::vector<controller::LiveFlow>& flows() const { return flows_; }
  // Since the last reported(): flows came, went or have another port.
  [[nodiscard]] bool changed() const { return changed_; }
  // Likewise: packets were retransmitted.
  [[nodiscard]] bool retransmits() const { return retransmits_; }
  void reported() { changed_ = retransmits_ = false; }

 private:
  std::vector<controller::LiveFlow> flows_;  // in the order of their numbers
  bool changed_{};
  bool retransmits_{};
};

}  // namespace nerve::cli
