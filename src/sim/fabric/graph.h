// Nodes and the cables between them. Topologies build a graph, Routes searches it, and Fabric is
// built from it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "sim/core/ids.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim {

enum class NodeKind : std::uint8_t { kNic, kSwitch };

struct GraphNode {
  NodeKind kind{};
  std::string name;        // shown to users: leaf3
  std::uint16_t tier{};    // 0 for NICs, then upwards; the report draws by it
  std::uint8_t network{};  // networks do not touch; each has its own switch settings
};

struct Cable {
  NodeId a{};
  NodeId b{};
  Rate rate{Rate::gigabits(100)};
  Duration delay{std::chrono::microseconds{1}};
  std::optional<LinkKind> kind{};  // none: the network's default
  // A dragonfly's cable between groups. Routes cross as few of these as possible. Data that has
  // crossed one continues in another traffic class, which rules out a cycle of full buffers (a
  // deadlock).
  bool between_groups{};
};

// The servers of a graph from a file that describes them. Each GPU has a NIC of its own.
struct ServersOfFile {
  std::uint32_t gpus{};  // per server
  Rate interconnect{};   // per GPU and direction; zero: not in the file
  Duration interconnect_delay{};

  friend bool operator==(const ServersOfFile&, const ServersOfFile&) = default;
};

// Cable i has the ports 2i (at a) and 2i + 1 (at b).
struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<Cable> cables;
  std::optional<ServersOfFile> servers{};

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

// Puts both networks into one graph, without a cable between them. The nodes of `b` come after
// those of `a` and get the prefix; the networks of `b` are numbered after those of `a`.
[[nodiscard]] Graph merge(Graph a, const Graph& b, std::string_view prefix = "front-");

}  // namespace nerve::sim
