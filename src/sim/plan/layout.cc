#include "sim/plan/layout.h"

#include <algorithm>
#include <cmath>

namespace nerve::sim::plan {
namespace {

constexpr std::uint32_t kNowhere = ~0U;

double way_between(std::uint32_t a, std::uint32_t b, const Site& site) {
  if (a == b) return site.within_rack;
  const auto row = [&site](std::uint32_t rack) {
    const std::uint32_t number = rack / site.racks_per_row;
    return static_cast<double>(number);
  };
  const auto column = [&site](std::uint32_t rack) {
    return static_cast<double>(rack % site.racks_per_row);
  };
  return site.between_racks + std::abs(row(a) - row(b)) * site.row_distance +
         std::abs(column(a) - column(b)) * site.rack_width;
}

}  // namespace

Layout lay_out_cables(const Graph& graph, std::uint32_t nics_per_server, double server_watts,
                      const Site& site) {
  const auto in_rack = static_cast<std::uint32_t>(
      std::clamp(site.rack_watts / std::max(server_watts, 1.0), 1.0, 1000.0));
  std::vector<std::uint32_t> rack(graph.nodes.size(), kNowhere);
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::kNic) continue;
    rack[i] = i / nics_per_server / in_rack;
    last = std::max(last, rack[i]);
  }
  // The racks of the first and the last NIC of each switch that has any.
  std::vector<std::uint32_t> first_rack(graph.nodes.size(), kNowhere);
  std::vector<std::uint32_t> last_rack(graph.nodes.size(), 0);
  for (const Cable& cable : graph.cables) {
    const bool a_is_nic = graph.nodes[cable.a.value()].kind == NodeKind::kNic;
    const bool b_is_nic = graph.nodes[cable.b.value()].kind == NodeKind::kNic;
    if (a_is_nic == b_is_nic) continue;
    const std::uint32_t nic = a_is_nic ? cable.a.value() : cable.b.value();
    const std::uint32_t one = a_is_nic ? cable.b.value() : cable.a.value();
    first_rack[one] = std::min(first_rack[one], rack[nic]);
    last_rack[one] = std::max(last_rack[one], rack[nic]);
  }
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (rack[i] != kNowhere) continue;
    rack[i] = first_rack[i] == kNowhere ? last / 2 : (first_rack[i] + last_rack[i]) / 2;
  }
  Layout layout;
  layout.metres.reserve(graph.cables.size());
  for (const Cable& cable : graph.cables) {
    const double metres = way_between(rack[cable.a.value()], rack[cable.b.value()], site);
    layout.metres.push_back(metres);
    const bool to_nic = graph.nodes[cable.a.value()].kind == NodeKind::kNic ||
                        graph.nodes[cable.b.value()].kind == NodeKind::kNic;
    double& longest = to_nic ? layout.longest_to_nic : layout.longest_trunk;
    longest = std::max(longest, metres);
  }
  return layout;
}

}  // namespace nerve::sim::plan
