// Whether a graph can be a fabric with these switches: numbers that the simulator holds, buffers
// that hold what PFC or credits need.
#pragma once

#include <optional>
#include <string>

#include "sim/fabric/graph.h"
#include "sim/scenario/network_spec.h"

namespace nerve::sim {

// Of what a scenario says of a network by itself. Why not; nothing when all is well.
[[nodiscard]] std::optional<std::string> objection_to(const NetworkSpec& spec);
// Of the graph that was made of it.
[[nodiscard]] std::optional<std::string> objection_to(const Graph& graph, const NetworkSpec& spec);

}  // namespace nerve::sim
