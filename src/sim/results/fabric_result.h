// What a fabric and its NICs have counted, as results: read once, when a run is over.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/simulation.h"

namespace nerve::sim {

[[nodiscard]] std::vector<NodeResult> nodes_of(const Graph& graph);

// Link i is what port i sends. Their cables' ends and rates; nothing is counted yet.
[[nodiscard]] std::vector<LinkResult> links_of(const Graph& graph);
// What they have carried, in the time that the jobs took.
void count_links(Simulation& simulation, Duration over, std::span<LinkResult> links);

// Of every port and every engine. `failed_messages` is known to whoever sent them.
[[nodiscard]] Totals totals_of(Simulation& simulation);

// How long this port has been told to be silent, up to now.
[[nodiscard]] std::uint64_t paused_time_ps(const Port& port, Time now);

}  // namespace nerve::sim
