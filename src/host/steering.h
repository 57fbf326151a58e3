// Lists the flows of all processes of this user on this host, and gives them other source ports and
// limits of their rates. For a program without devices, like the agent of a controller of paths.
//
// An order names a QP by its number and its peer's, so one for a QP that has gone reaches no other.
// It changes the port or the rate of a QP and nothing else: a wrong order makes a program slower,
// never wrong.
#pragma once

#include <chrono>
#include <span>
#include <vector>

#include "host/peers/flow_messages.h"

namespace nerve::host {

struct FlowsOfHost {
  std::vector<FlowReport> flows;  // in the order of slots and numbers of QPs
  bool complete{true};            // every process has answered in time
};

[[nodiscard]] FlowsOfHost list_flows(std::chrono::milliseconds patience);

// Sends each order to the process that has the QP.
SteeringResult steer(std::span<const SteeringOrder> orders, std::chrono::milliseconds patience);

}  // namespace nerve::host
