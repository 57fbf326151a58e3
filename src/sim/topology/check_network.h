// Checks whether a graph can be simulated with these switches: limits of the simulator, and buffers
// large enough for PFC or credits.
#pragma once

#include <optional>
#include <string>

#include "sim/fabric/graph.h"
#include "sim/scenario/network_spec.h"

namespace nerve::sim {

// Checks the values of the scenario. Returns the reason against them, if any.
[[nodiscard]] std::optional<std::string> objection_to(const NetworkSpec& spec);
// Checks the graph built from it.
[[nodiscard]] std::optional<std::string> objection_to(const Graph& graph, const NetworkSpec& spec);

}  // namespace nerve::sim
