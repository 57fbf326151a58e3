// Turns a scenario into what a simulation is built from: the graph of all its networks, the
// settings of their switches and NICs, the shape of the cluster.
//
// Also chooses what the scenario leaves open: the retransmission timeout, the rates of DCQCN and
// TIMELY scaled to the line rate, the base round trips of HPCC and learned congestion control.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/host/cluster.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"
#include "sim/topology/nic_rates.h"

namespace nerve::sim {

struct RunSetup {
  Graph graph;
  std::vector<SimulatedNetwork> networks;
  std::vector<NicRates> nic_rates;  // per network; before the limit of servers.pcie
  ClusterConfig cluster;
  std::vector<std::shared_ptr<const nic::Policy>> policies;  // that the NICs refer to
};

// The networks alone, without what is measured in them: little memory, however large they are. An
// error if the scenario cannot be built. NICs that check contents use `payload`.
[[nodiscard]] Result<RunSetup, std::string> lay_out(const Scenario& scenario,
                                                    CheckedMemory& payload);

// The same, complete.
[[nodiscard]] Result<RunSetup, std::string> set_up(const Scenario& scenario,
                                                   CheckedMemory& payload);

// Exposed for tests: the settings for a line rate and a longest round trip.
[[nodiscard]] nic::FlowControlConfig settled(nic::FlowControlConfig flow_control, Rate line,
                                             Duration round_trip);
[[nodiscard]] std::uint8_t timeout_code(Duration timeout);

}  // namespace nerve::sim
