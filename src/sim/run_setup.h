// From a scenario's words to what a simulation is built of: the graph of all its networks, what
// their switches and NICs are set to, the shape of the cluster.
//
// What a scenario leaves to us is chosen here: how many picoseconds a QP waits for an answer, what
// the papers' rates are at another line rate, what HPCC takes for a round trip.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "sim/host/cluster.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"

namespace nerve::sim {

struct RunSetup {
  Graph graph;
  std::vector<SimulatedNetwork> networks;
  ClusterConfig cluster;
};

// The reason when it cannot be built. `payload` is what NICs check contents with, if they do.
[[nodiscard]] Result<RunSetup, std::string> set_up(const Scenario& scenario,
                                                   CheckedMemory& payload);

// For tests: of one network whose longest round trip is known.
[[nodiscard]] nic::FlowControlConfig settled(nic::FlowControlConfig flow_control, Rate line,
                                             Duration round_trip);
[[nodiscard]] std::uint8_t timeout_code(Duration timeout);

}  // namespace nerve::sim
