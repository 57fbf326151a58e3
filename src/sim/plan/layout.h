// Where racks stand, and so how long cables are. Servers fill racks in order; a leaf stands in the
// middle of its servers, other switches in the middle of the room.
#pragma once

#include <vector>

#include "sim/fabric/graph.h"
#include "sim/plan/prices.h"

namespace nerve::sim::plan {

struct Layout {
  std::vector<double> metres;  // of each cable of the graph
  double longest_to_nic{};
  double longest_trunk{};
};

[[nodiscard]] Layout lay_out_cables(const Graph& graph, std::uint32_t nics_per_server,
                                    double server_watts, const Site& site);

// Light in a fibre takes 5 ns for a metre; electricity in copper about as long.
[[nodiscard]] inline Duration delay_of(double metres) {
  return Duration{static_cast<std::int64_t>(metres * 5000)};
}

}  // namespace nerve::sim::plan
