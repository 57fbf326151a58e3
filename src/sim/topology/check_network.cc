#include "sim/topology/check_network.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/fabric/routes.h"

namespace nerve::sim {
namespace {

std::string megabytes(std::uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f MB", static_cast<double>(bytes) / 1e6);
  return text;
}

std::optional<std::string> objection_to_rate(const char* name, Rate rate) {
  constexpr std::uint64_t kSlowest = 1'000'000;
  constexpr std::uint64_t kFastest = 100'000'000'000'000;
  const std::uint64_t bps = rate.bits_per_second();
  if (bps >= kSlowest && bps <= kFastest) return std::nullopt;
  return std::string{name} + " = " + std::to_string(bps) +
         " bit/s: must be from 1 Mb/s to 100 Tb/s";
}

std::optional<std::string> objection_to_delay(const char* name, Duration delay) {
  if (delay >= Duration{} && delay <= std::chrono::seconds{1}) return std::nullopt;
  return std::string{name} + " = " + std::to_string(delay.count()) + " ps: must be from 0 to 1 s";
}

// The reserve and headroom of PFC at all ports and lossless classes must leave room for packets.
std::optional<std::string> objection_to_buffer(const Graph& graph, const FabricConfig& switches) {
  const bool lifted = std::ranges::any_of(graph.cables, &Cable::between_groups);
  const std::uint8_t lossless =
      lifted ? lossless_between_groups(switches) : switches.buffer.lossless;
  const auto classes = static_cast<std::uint64_t>(std::popcount(lossless));
  std::vector<std::uint64_t> kept(graph.nodes.size());
  std::vector<std::uint32_t> ports(graph.nodes.size());
  for (const Cable& cable : graph.cables) {
    const std::uint64_t one =
        headroom_of(switches, cable.rate, cable.delay) + switches.buffer.reserve;
    for (const NodeId end : {cable.a, cable.b}) {
      kept[end.value()] += one * classes;
      ++ports[end.value()];
    }
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].kind != NodeKind::kSwitch) continue;
    const std::uint64_t least = kept[i] + switches.longest_packet;
    if (least <= switches.buffer.bytes) continue;
    return graph.nodes[i].name + " reserves " + megabytes(kept[i]) + " for PFC at its " +
           std::to_string(ports[i]) + " ports, its buffer has " + megabytes(switches.buffer.bytes) +
           ": a buffer of " + megabytes(2 * least) +
           ", shorter cables, smaller switches or no PFC would do";
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> objection_to(const NetworkSpec& spec) {
  if (spec.topology != TopologyKind::kFile) {
    if (auto why = objection_to_rate("nic_rate", spec.nic_rate)) return why;
    if (spec.trunk_rate != Rate{}) {
      if (auto why = objection_to_rate("trunk_rate", spec.trunk_rate)) return why;
    }
    if (auto why = objection_to_delay("nic_delay", spec.nic_delay)) return why;
    if (auto why = objection_to_delay("trunk_delay", spec.trunk_delay)) return why;
  }
  const FabricConfig& switches = spec.switches;
  if (has_credits(switches.kind) && switches.lane_buffer < switches.longest_packet) {
    return "lane_buffer = " + std::to_string(switches.lane_buffer) + " bytes: packets have up to " +
           std::to_string(switches.longest_packet) + " and could not be sent";
  }
  return std::nullopt;
}

std::optional<std::string> objection_to(const Graph& graph, const NetworkSpec& spec) {
  std::size_t trunks = 0;
  for (const Cable& cable : graph.cables) {
    const auto is_switch = [&](NodeId end) {
      return graph.nodes[end.value()].kind == NodeKind::kSwitch;
    };
    if (is_switch(cable.a) && is_switch(cable.b)) ++trunks;
  }
  if (trunks > Routes::kMostCables) {
    return std::to_string(trunks) + " cables between switches: at most " +
           std::to_string(Routes::kMostCables) + " can be simulated";
  }
  if (spec.switches.kind == LinkKind::kEthernet && spec.switches.buffer.lossless != 0) {
    return objection_to_buffer(graph, spec.switches);
  }
  return std::nullopt;
}

}  // namespace nerve::sim
