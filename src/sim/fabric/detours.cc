#include "sim/fabric/detours.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace nerve::sim {
namespace {

// The smallest node that each node is connected to without cables between groups.
std::vector<std::uint32_t> find_roots(const Graph& graph) {
  std::vector<std::uint32_t> root(graph.nodes.size());
  std::iota(root.begin(), root.end(), 0U);
  const auto find = [&](std::uint32_t node) {
    while (root[node] != node) node = root[node] = root[root[node]];
    return node;
  };
  for (const Cable& cable : graph.cables) {
    if (cable.between_groups) continue;
    const std::uint32_t a = find(cable.a.value());
    const std::uint32_t b = find(cable.b.value());
    root[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t i = 0; i < root.size(); ++i) root[i] = find(i);
  return root;
}

}  // namespace

Detours::Detours(const Graph& graph) : group_(graph.nodes.size()), network_(graph.nodes.size()) {
  number_groups(graph);
  const auto each_nic = [&](auto&& call) {
    for (std::uint32_t i = 0; i < group_.size(); ++i) {
      if (graph.nodes[i].kind == NodeKind::kNic) call(NodeId{i}, nics_of_[group_[i]]);
    }
  };
  each_nic([](NodeId, Range& group) { ++group.count; });
  std::uint32_t first = 0;
  for (Range& group : nics_of_) {
    group.first = first;
    first += std::exchange(group.count, 0);
  }
  nics_.resize(first);
  each_nic([&](NodeId nic, Range& group) { nics_[group.first + group.count++] = nic; });
}

// The nodes of a network are contiguous, so its groups are too.
void Detours::number_groups(const Graph& graph) {
  const std::vector<std::uint32_t> root = find_roots(graph);
  for (std::uint32_t i = 0; i < root.size(); ++i) {
    network_[i] = graph.nodes[i].network;
    if (root[i] != i) {
      group_[i] = group_[root[i]];
      continue;
    }
    networks_.resize(std::max<std::size_t>(networks_.size(), network_[i] + 1U));
    Range& all = networks_[network_[i]];
    group_[i] = static_cast<std::uint32_t>(nics_of_.size());
    if (all.count++ == 0) all.first = group_[i];
    nics_of_.emplace_back();
  }
}

}  // namespace nerve::sim
