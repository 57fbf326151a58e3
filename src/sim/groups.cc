#include "sim/groups.h"

#include <algorithm>
#include <numeric>

namespace nerve::sim {
namespace {

// The first node of each node's group.
std::vector<std::uint32_t> firsts_of(const Graph& graph, Duration window) {
  std::vector<std::uint32_t> first(graph.nodes.size());
  std::iota(first.begin(), first.end(), 0U);
  const auto find = [&](std::uint32_t node) {
    while (first[node] != node) node = first[node] = first[first[node]];
    return node;
  };
  for (const Cable& cable : graph.cables) {
    if (cable.delay >= window) continue;
    const std::uint32_t a = find(cable.a.value());
    const std::uint32_t b = find(cable.b.value());
    first[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t node = 0; node < first.size(); ++node) first[node] = find(node);
  return first;
}

}  // namespace

Groups::Groups(const Graph& graph, Duration window, std::span<const std::uint16_t> part_of_node)
    : ports_{static_cast<std::uint32_t>(2 * graph.cables.size())},
      of_(ports_ + graph.nodes.size()),
      count_(std::size_t{1} + *std::ranges::max_element(part_of_node)) {
  const std::vector<std::uint32_t> first = firsts_of(graph, window);
  for (std::uint32_t node = 0; node < first.size(); ++node) {
    of_[ports_ + node] =
        first[node] == node ? count_[part_of_node[node]]++ : of_[ports_ + first[node]];
  }
  for (std::uint32_t port = 0; port < ports_; ++port) {
    of_[port] = of_[ports_ + graph.node_at(PortId{port}).value()];
  }
}

}  // namespace nerve::sim
