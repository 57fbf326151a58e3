#include "sim/fabric/path_time.h"

#include <algorithm>
#include <optional>

namespace nerve::sim {
namespace {

constexpr std::uint32_t kAcknowledgement = 66;
constexpr std::uint32_t kMostCables = 64;  // the longest path

}  // namespace

Duration path_time(Fabric& fabric, NodeId from, NodeId to, std::uint32_t bytes) {
  PortId by = fabric.first_port(from);
  Duration time{};
  for (std::uint32_t cables = 0; cables < kMostCables; ++cables) {
    const Port& port = fabric.port(by);
    const FabricConfig& config = fabric.config_of(port);
    const bool head_alone = config.cut_through && port.to_switch;
    time += port.line.time_of(head_alone ? std::min(bytes, kCutThroughHead) : bytes) + port.delay;
    const NodeId next = fabric.port(port.peer).node;
    if (next == to) return time;
    if (!port.to_switch) return {};
    time += config.switch_latency;
    const auto ways = fabric.routes().ways(next, to);
    if (ways.empty()) return {};
    by = ways[0];
  }
  return {};
}

Duration longest_round_trip(Fabric& fabric, std::uint8_t network, std::uint32_t bytes) {
  Duration longest{};
  std::optional<NodeId> first;
  const auto& nodes = fabric.graph().nodes;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind != NodeKind::kNic || nodes[i].network != network) continue;
    if (!first) first = NodeId{i};
    if (*first == NodeId{i}) continue;
    const Duration there = path_time(fabric, *first, NodeId{i}, bytes);
    const Port& port = fabric.port(fabric.first_port(*first));
    const bool detour = fabric.config_of(port).path_choice == PathChoice::kValiant;
    longest = std::max(longest, (detour ? 2 * there : there) +
                                    path_time(fabric, NodeId{i}, *first, kAcknowledgement));
  }
  return longest;
}

}  // namespace nerve::sim
