// Nodes and the cables between them: what a topology makes, what routes are found in, what a
// fabric is built from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "sim/core/ids.h"

namespace nerve::sim {

enum class NodeKind : std::uint8_t { kNic, kSwitch };
enum class LinkKind : std::uint8_t { kEthernet, kInfiniBand };

struct GraphNode {
  NodeKind kind{};
  std::string name;        // for people: leaf3
  std::uint16_t tier{};    // 0 for NICs, then upwards: where it is drawn
  std::uint8_t network{};  // of several that never touch; its switches have settings of their own
};

struct Cable {
  NodeId a{};
  NodeId b{};
  Rate rate{Rate::gigabits(100)};
  Duration delay{std::chrono::microseconds{1}};
  std::optional<LinkKind> kind{};  // none: as the network's switches have it
  // Of a dragonfly: a route crosses as few of these as it can. Data that has crossed one goes on in
  // a class of its own, so that no ring of full buffers, each waiting for the next, can close.
  bool between_groups{};
};

// Cable i has the ports 2i (at a) and 2i + 1 (at b).
struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<Cable> cables;

  NodeId add(NodeKind kind, std::string name, std::uint16_t tier) {
    nodes.push_back({kind, std::move(name), tier, 0});
    return NodeId{static_cast<std::uint32_t>(nodes.size() - 1)};
  }
  Cable& join(NodeId a, NodeId b, Rate rate, Duration delay) {
    cables.push_back({a, b, rate, delay});
    return cables.back();
  }

  [[nodiscard]] std::size_t ports() const { return cables.size() * 2; }
  [[nodiscard]] NodeId node_at(PortId port) const {
    const Cable& cable = cables[port.value() / 2];
    return port.value() % 2 == 0 ? cable.a : cable.b;
  }
  [[nodiscard]] static PortId other_end(PortId port) { return PortId{port.value() ^ 1U}; }
};

// Both networks in one graph, without a cable between them. The nodes of `b` come after those of
// `a`, under their names with the prefix, and their networks are numbered after those of `a`.
[[nodiscard]] Graph merge(Graph a, const Graph& b, std::string_view prefix = "front-");

}  // namespace nerve::sim
