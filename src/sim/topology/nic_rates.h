// The rates of the NICs of a network. The rate of a NIC is the sum of its cables.
#pragma once

#include <string>

#include "base/rate.h"
#include "base/result.h"
#include "sim/fabric/graph.h"
#include "sim/scenario/network_spec.h"

namespace nerve::sim {

struct NicRates {
  Rate slowest{};
  Rate fastest{};
  [[nodiscard]] bool differ() const { return slowest != fastest; }
};

// In a graph from a file the cables decide: a nic_rate in the scenario must agree with them.
[[nodiscard]] Result<NicRates, std::string> nic_rates_of(const NetworkSpec& spec,
                                                         const Graph& graph);

// How many paths, each by a cable of its own, the fastest NIC needs to send at its rate.
[[nodiscard]] std::uint64_t paths_to_fill_a_nic(const Graph& graph);

// Slows the cables of each NIC that is faster than the limit, all by the same factor.
void hold_nics_to(Rate limit, Graph& graph);

}  // namespace nerve::sim
