// Builds the graph of a scenario's network. Chooses what the scenario leaves open; rejects what
// cannot be built, with a value that would work.
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

// In every topology NICs come first: NIC n is node n, named nic<n>, and is NIC n % nics_per_server
// of server n / nics_per_server. A graph from a file has the names of the file. docs/topologies.md
// lists the names of the switches.
[[nodiscard]] Result<Graph, std::string> build_network(const NetworkSpec& spec,
                                                       const NetworkHosts& hosts);

}  // namespace nerve::sim
