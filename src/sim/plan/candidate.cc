#include "sim/plan/candidate.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/scenario/scenario_file.h"
#include "sim/scenario/units.h"

namespace nerve::sim::plan {
namespace {

constexpr std::uint32_t kMostSplit = 8;

bool has_oversubscription(TopologyKind kind) {
  return kind == TopologyKind::kLeafSpine || kind == TopologyKind::kRailOptimised ||
         kind == TopologyKind::kDualPlane;
}

bool matches(const Part& part, LinkKind link, const std::vector<std::uint32_t>& wanted, Rate rate) {
  if (part.kind != PartKind::kSwitch || part.link != link) return false;
  return wanted.empty() || std::ranges::find(wanted, ports_at(part, rate)) != wanted.end();
}

// Calls `add` for each shape: a topology with each oversubscription that it can have.
template <class Add>
void for_each_shape(const VarySpec& vary, Add add) {
  const std::vector<TopologyKind> all{std::begin(kPlanned), std::end(kPlanned)};
  for (const TopologyKind topology : vary.topology.empty() ? all : vary.topology) {
    for (const double ratio : vary.oversubscription) {
      add(topology, has_oversubscription(topology) ? ratio : 1.0);
      if (!has_oversubscription(topology)) break;
    }
  }
}

}  // namespace

std::uint32_t ports_at(const Part& switch_part, Rate rate) {
  const std::uint64_t wanted = rate.bits_per_second();
  if (wanted == 0 || wanted > switch_part.rate.bits_per_second()) return 0;
  const std::uint64_t split = switch_part.rate.bits_per_second() / wanted;
  return switch_part.ports * static_cast<std::uint32_t>(std::min<std::uint64_t>(split, kMostSplit));
}

std::string name_of(const Candidate& candidate, const Prices& prices) {
  const Part& part = prices.parts[candidate.switch_part];
  std::string text = fmt::format("{} {}", name_of(candidate.network), name_of(candidate.topology));
  if (candidate.oversubscription != 1) {
    text += fmt::format(" {}:1", scenario_file::number_text(candidate.oversubscription));
  }
  text += fmt::format(", {} x {} GPUs, {} x {}G, {} ports", candidate.servers,
                      candidate.gpus_per_server, candidate.nics_per_server,
                      candidate.nic_rate.bits_per_second() / 1'000'000'000,
                      ports_at(part, candidate.nic_rate));
  return candidate.cabling == Cabling::kOptics ? text + ", optics" : text;
}

std::vector<Candidate> combinations(const PlanSpec& spec, const Prices& prices) {
  std::vector<Candidate> all;
  Candidate one;
  const VarySpec& vary = spec.vary;
  const auto add_switches = [&](TopologyKind topology, double ratio) {
    one.topology = topology;
    one.oversubscription = ratio;
    for (const NetworkKind network : vary.network) {
      one.network = network;
      for (one.switch_part = 0; one.switch_part < prices.parts.size(); ++one.switch_part) {
        if (!matches(prices.parts[one.switch_part], one.link(), vary.switch_ports, one.nic_rate)) {
          continue;
        }
        for (const Cabling cabling : vary.cables) {
          one.cabling = cabling;
          all.push_back(one);
        }
      }
    }
  };
  for (const std::uint32_t gpus : vary.gpus_per_server) {
    one.gpus_per_server = gpus;
    one.servers = (spec.gpus + gpus - 1) / gpus;
    const std::vector<std::uint32_t> as_gpus{gpus};
    for (const std::uint32_t nics : vary.nics_per_server.empty() ? as_gpus : vary.nics_per_server) {
      one.nics_per_server = nics;
      for (const Rate rate : vary.nic_rate) {
        one.nic_rate = rate;
        for_each_shape(vary, add_switches);
      }
    }
  }
  return all;
}

}  // namespace nerve::sim::plan
