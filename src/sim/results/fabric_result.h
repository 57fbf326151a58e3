// The counters of a fabric and its NICs as results, read once at the end of a run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/simulation.h"

namespace nerve::sim {

[[nodiscard]] std::vector<NodeResult> nodes_of(const Graph& graph);

// Link i is the sending direction of port i. Fills in ends and rates, but no counters.
[[nodiscard]] std::vector<LinkResult> links_of(const Graph& graph);
// Fills in the counters; utilisation is over the given time.
void count_links(Simulation& simulation, Duration over, std::span<LinkResult> links);

// Sums over all ports and engines. The caller adds `failed_messages`.
[[nodiscard]] Totals totals_of(Simulation& simulation);

// How long this port has been paused, up to now.
[[nodiscard]] std::uint64_t paused_time_ps(const Port& port, Time now);

}  // namespace nerve::sim
