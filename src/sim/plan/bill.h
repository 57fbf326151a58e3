// The bill of materials of a candidate, counted from the graph that the simulator builds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/fabric/graph.h"
#include "sim/plan/candidate.h"
#include "sim/plan/layout.h"
#include "sim/plan/prices.h"

namespace nerve::sim::plan {

struct BillLine {
  std::size_t part{};  // index in the prices
  std::string where;   // leaf; nic-leaf
  std::uint64_t count{};
  double metres{};  // of cables, all together

  friend bool operator==(const BillLine&, const BillLine&) = default;
};

struct Bill {
  std::vector<BillLine> lines;
  std::uint64_t switch_ports{};       // with a cable
  std::uint64_t switches_in_graph{};  // several can share one switch that is bought
  std::uint64_t cables_in_graph{};
};

// An error says which part is missing from the prices, or which switch has too few ports.
[[nodiscard]] Result<Bill, std::string> bill_of(const Candidate& candidate, const Graph& graph,
                                                const Layout& layout, const Prices& prices);

[[nodiscard]] Money price_of(const BillLine& line, const Part& part);
[[nodiscard]] Money capital_of(const Bill& bill, const Prices& prices);
// Without NICs' servers: NICs, switches, cables and transceivers.
[[nodiscard]] Money network_capital_of(const Bill& bill, const Prices& prices);
[[nodiscard]] double watts_of(const Bill& bill, const Prices& prices);  // without cooling
[[nodiscard]] double network_watts_of(const Bill& bill, const Prices& prices);
// Of all years, with cooling.
[[nodiscard]] Money energy_of(const Bill& bill, const Prices& prices, double years);
[[nodiscard]] double energy_hours(double watts, const Prices& prices, double years);  // kWh

// The server with this number of GPUs.
[[nodiscard]] const Part* server_part(const Prices& prices, std::uint32_t gpus);

}  // namespace nerve::sim::plan
