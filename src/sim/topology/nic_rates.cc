#include "sim/topology/nic_rates.h"

#include <algorithm>
#include <vector>

#include "sim/scenario/units.h"

namespace nerve::sim {
namespace {

// Calls with each cable of a NIC. NICs are not connected to each other.
template <class Graph, class Call>
void each_cable_of_a_nic(Graph& graph, Call call) {
  for (auto& cable : graph.cables) {
    for (const NodeId end : {cable.a, cable.b}) {
      if (graph.nodes[end.value()].kind == NodeKind::kNic) call(cable, end.value());
    }
  }
}

// Bits per second, per node; zero for switches. A file may give a NIC any number of cables.
std::vector<std::uint64_t> rates_of(const Graph& graph) {
  constexpr std::uint64_t kMost = 1'000'000'000'000'000'000;
  std::vector<std::uint64_t> rates(graph.nodes.size());
  each_cable_of_a_nic(graph, [&](const Cable& cable, std::uint32_t nic) {
    rates[nic] = std::min(rates[nic] + cable.rate.bits_per_second(), kMost);
  });
  return rates;
}

std::string objection(const NetworkSpec& spec, const NicRates& rates) {
  using scenario_file::rate_text;
  const std::string said = spec.nic_rate_at + rate_text(spec.nic_rate) + ", but the NICs in " +
                           spec.file + " have cables of ";
  if (rates.differ()) {
    return said + rate_text(rates.slowest) + " to " + rate_text(rates.fastest) +
           "; leave nic_rate out";
  }
  return said + rate_text(rates.slowest) + "; leave nic_rate out, or change the file";
}

}  // namespace

Result<NicRates, std::string> nic_rates_of(const NetworkSpec& spec, const Graph& graph) {
  if (spec.topology != TopologyKind::kFile) return NicRates{spec.nic_rate, spec.nic_rate};
  std::vector<std::uint64_t> rates = rates_of(graph);
  std::erase(rates, 0U);  // every NIC has a cable
  const auto [slowest, fastest] = std::ranges::minmax(rates);
  const NicRates found{Rate::bits_per_second(slowest), Rate::bits_per_second(fastest)};
  const bool agrees = !found.differ() && found.slowest == spec.nic_rate;
  if (!spec.nic_rate_at.empty() && !agrees) return Unexpected{objection(spec, found)};
  return found;
}

std::uint64_t paths_to_fill_a_nic(const Graph& graph) {
  const std::vector<std::uint64_t> rates = rates_of(graph);
  const std::uint64_t fastest = *std::ranges::max_element(rates);
  std::uint64_t slowest = fastest;
  for (const Cable& cable : graph.cables) {
    const std::uint64_t ends = std::max(rates[cable.a.value()], rates[cable.b.value()]);
    if (ends == 0 || ends == fastest) slowest = std::min(slowest, cable.rate.bits_per_second());
  }
  return (fastest + slowest - 1) / slowest;
}

void hold_nics_to(Rate limit, Graph& graph) {
  __extension__ using Wide = unsigned __int128;
  constexpr std::uint64_t kSlowest = 1'000'000;  // of any cable
  const std::vector<std::uint64_t> rates = rates_of(graph);
  const std::uint64_t most = limit.bits_per_second();
  each_cable_of_a_nic(graph, [&](Cable& cable, std::uint32_t nic) {
    if (rates[nic] <= most) return;
    const Wide share = Wide{cable.rate.bits_per_second()} * most / rates[nic];
    cable.rate = Rate::bits_per_second(std::max(static_cast<std::uint64_t>(share), kSlowest));
  });
}

}  // namespace nerve::sim
