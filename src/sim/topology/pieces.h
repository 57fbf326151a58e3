// Building blocks of the topologies.
#pragma once

#include <string>
#include <vector>

#include "sim/fabric/graph.h"

namespace nerve::sim {

inline void add_nics(Graph& graph, std::uint32_t count) {
  graph.nodes.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) graph.add(NodeKind::kNic, "nic" + std::to_string(i), 0);
}

inline std::vector<NodeId> add_switches(Graph& graph, std::uint32_t count, const std::string& name,
                                        std::uint16_t tier) {
  std::vector<NodeId> made;
  made.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    made.push_back(graph.add(NodeKind::kSwitch, name + std::to_string(i), tier));
  }
  return made;
}

// Connects each node below to each node above with one cable.
inline void join_all(Graph& graph, const std::vector<NodeId>& below,
                     const std::vector<NodeId>& above, Rate rate, Duration delay) {
  for (const NodeId lower : below) {
    for (const NodeId upper : above) graph.join(lower, upper, rate, delay);
  }
}

}  // namespace nerve::sim
