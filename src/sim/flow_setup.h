// What a run with `fidelity = "flow"` needs besides: the transport of each network, and the reasons
// to doubt its result.
#pragma once

#include <string>
#include <vector>

#include "sim/run_setup.h"
#include "sim/scenario/scenario.h"
#include "sim/simulation.h"

namespace nerve::sim {

// Why the scenario cannot run as flows; empty if it can.
[[nodiscard]] std::string objection_to_flows(const Scenario& scenario);

// The networks of lay_out(), with messages as flows.
void use_flows(const Scenario& scenario, RunSetup& setup);

// What flows leave out and this run would have had: pauses, drops, blocked links, faults that have
// no effect. Call it when the run is over.
[[nodiscard]] std::vector<std::string> doubts_about_flows(const Scenario& scenario,
                                                          Simulation& simulation);

}  // namespace nerve::sim
