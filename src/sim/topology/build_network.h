// The network that a scenario asks for, as a graph: what the scenario leaves out is chosen here,
// and what cannot be built is refused in words that say what would do.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "sim/fabric/graph.h"
#include "sim/scenario/network_spec.h"

namespace nerve::sim {

struct NetworkHosts {
  std::uint32_t servers{};
  std::uint32_t nics_per_server{1};
};

// NIC number n, node n of the graph, named nic<n>, is NIC n % nics_per_server of server
// n / nics_per_server, in every topology; NICs come first. Of a graph from a file the names are the
// file's. Dragonflies, rails and planes have names of switches that docs/topologies.md lists.
[[nodiscard]] Result<Graph, std::string> build_network(const NetworkSpec& spec,
                                                       const NetworkHosts& hosts);

}  // namespace nerve::sim
