#include "sim/fabric/routes.h"

#include <algorithm>
#include <map>

#include "base/check.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kFar = 0x7fff'ffff;  // adding an edge does not overflow
constexpr unsigned kCountBits = 10;
constexpr std::uint32_t kCostBetweenGroups = 3;
constexpr std::size_t kListsSearched =
    64;  // of a row, newest first; a longer search would only save memory

static_assert(Routes::kMostWays == (1U << kCountBits) - 1);

bool is_switch(const Graph& graph, NodeId node) {
  return graph.nodes[node.value()].kind == NodeKind::kSwitch;
}

}  // namespace

Routes::Routes(const Graph& graph, const std::vector<bool>& down)
    : row_(graph.nodes.size()),
      group_(graph.nodes.size()),
      first_hop_(graph.nodes.size() + 1),
      ends_(graph.ports()) {
  Making making;
  number_switches(graph, making);
  find_edges(graph, down, making);
  CHECK(making.edges.size() <= 2 * kMostCables);  // checked by build_network()
  find_groups(graph);
  table_.resize(making.switches.size() * groups_.size());
  for (std::uint32_t group = 0; group < groups_.size(); ++group) fill_column(group, making);
}

void Routes::number_switches(const Graph& graph, Making& making) {
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (!is_switch(graph, NodeId{i})) continue;
    row_[i] = static_cast<std::uint32_t>(making.switches.size());
    making.switches.emplace_back(i);
  }
  making.first.resize(making.switches.size() + 1);
  making.cost.resize(making.switches.size());
  making.lists.resize(making.switches.size());
}

// Counts first and then fills, so that the edges of a switch are contiguous. NICs do not forward,
// so their cables are kept separately.
void Routes::find_edges(const Graph& graph, const std::vector<bool>& down, Making& making) {
  const auto each = [&](auto&& between_switches, auto&& to_nic) {
    for (std::uint32_t i = 0; i < graph.ports(); ++i) {
      const NodeId at = graph.node_at(PortId{i});
      const NodeId to = graph.node_at(Graph::other_end(PortId{i}));
      if ((i / 2 < down.size() && down[i / 2]) || !is_switch(graph, at)) continue;
      if (is_switch(graph, to)) {
        between_switches(PortId{i}, at, to);
      } else {
        to_nic(PortId{i}, at, to);
      }
    }
  };
  each([&](PortId, NodeId at, NodeId) { ++making.first[row_[at.value()] + 1]; },
       [&](PortId, NodeId, NodeId nic) { ++first_hop_[nic.value() + 1]; });
  const auto add_up = [](std::vector<std::uint32_t>& counts) {
    for (std::size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
  };
  add_up(making.first);
  add_up(first_hop_);
  making.edges.resize(making.first.back());
  ports_.resize(making.first.back());
  last_switches_.resize(first_hop_.back());
  last_ports_.resize(first_hop_.back());
  std::vector<std::uint32_t> next_edge = making.first;
  std::vector<std::uint32_t> next_hop = first_hop_;
  for (std::uint32_t i = 0; i < graph.ports(); ++i) {
    ends_[i] = graph.node_at(Graph::other_end(PortId{i}));
  }
  each(
      [&](PortId by, NodeId at, NodeId to) {
        const bool over = graph.cables[by.value() / 2].between_groups;
        const std::uint32_t edge = next_edge[row_[at.value()]]++;
        making.edges[edge] = {row_[to.value()], over ? kCostBetweenGroups : 1};
        ports_[edge] = by;
        making.uneven |= over;
      },
      [&](PortId by, NodeId at, NodeId nic) {
        const std::uint32_t hop = next_hop[nic.value()]++;
        last_switches_[hop] = at;
        last_ports_[hop] = by;
      });
}

void Routes::find_groups(const Graph& graph) {
  std::map<std::vector<std::uint32_t>, std::uint32_t> known;
  std::vector<std::uint32_t> switches;
  for (std::uint32_t i = 0; i < graph.nodes.size(); ++i) {
    if (is_switch(graph, NodeId{i})) continue;
    // Sorted by switch, so that several cables to one switch are adjacent.
    std::vector<LastHop> hops;
    for (std::uint32_t hop = first_hop_[i]; hop < first_hop_[i + 1]; ++hop) {
      hops.push_back({last_switches_[hop], last_ports_[hop]});
    }
    std::ranges::stable_sort(hops, {}, [](const LastHop& hop) { return hop.at.value(); });
    switches.clear();
    for (std::size_t k = 0; k < hops.size(); ++k) {
      last_switches_[first_hop_[i] + k] = hops[k].at;
      last_ports_[first_hop_[i] + k] = hops[k].by;
      if (switches.empty() || switches.back() != hops[k].at.value()) {
        switches.push_back(hops[k].at.value());
      }
    }
    const auto [at, fresh] =
        known.try_emplace(switches, static_cast<std::uint32_t>(groups_.size()));
    if (fresh) {
      groups_.emplace_back();
      for (const std::uint32_t one : switches) groups_.back().emplace_back(one);
    }
    group_[i] = at->second;
  }
}

// Dijkstra from the group's switches outwards, one ring of equal cost at a time. An edge costs at
// most three, so at most four rings are open.
void Routes::fill_column(std::uint32_t group, Making& making) {
  std::ranges::fill(making.cost, kFar);
  making.unreached = making.cost.size() - groups_[group].size();
  for (const NodeId one : groups_[group]) {
    making.cost[row_[one.value()]] = 0;
    making.rings[0].push_back(row_[one.value()]);
  }
  for (std::uint32_t cost = 0, empty = 0; empty < 4; ++cost) {
    std::vector<std::uint32_t>& ring = making.rings[cost % 4];
    empty = ring.empty() ? empty + 1 : 0;
    for (const std::uint32_t row : ring) {
      if (making.cost[row] == cost) settle(row, cost, group, making);
    }
    ring.clear();
  }
}

// The cost of this switch is final: store its ports on shortest paths and relax its edges.
void Routes::settle(std::uint32_t row, std::uint32_t cost, std::uint32_t group, Making& making) {
  const std::uint32_t begin = making.first[row];
  const std::uint32_t end = making.first[row + 1];
  making.ways.resize(std::max(making.ways.size(), std::size_t{end - begin}));
  std::uint32_t count = 0;
  for (std::uint32_t i = begin; i < end; ++i) {  // branch-free in the cost
    making.ways[count] = i;
    count += making.cost[making.edges[i].to] + making.edges[i].cost == cost ? 1U : 0U;
  }
  making.count = std::min(count, kMostWays);
  table_[std::size_t{row} * groups_.size() + group] = cost == 0 ? kHere : intern(row, making);
  // When all cables cost the same, the first cost found is the lowest.
  if (making.unreached == 0 && !making.uneven) return;
  for (std::uint32_t i = begin; i < end; ++i) {
    const Edge& edge = making.edges[i];
    std::uint32_t& there = making.cost[edge.to];
    if (there <= cost + edge.cost) continue;
    if (there == kFar) --making.unreached;
    there = cost + edge.cost;
    making.rings[there % 4].push_back(edge.to);
  }
}

std::uint32_t Routes::intern(std::uint32_t row, Making& making) {
  const std::span<const std::uint32_t> ways{making.ways.data(), making.count};
  if (ways.empty()) return 0;
  const std::uint32_t single = ways[0] << kCountBits | 1;
  if (ways.size() == 1) return single;
  const auto same = [&](std::uint32_t edge, PortId port) { return ports_[edge] == port; };
  std::vector<std::uint32_t>& lists = making.lists[row];
  for (std::size_t i = 0; i < std::min(lists.size(), kListsSearched); ++i) {
    const std::uint32_t list = lists[lists.size() - 1 - i];
    const std::span<const PortId> known = ports_of(list);
    if (std::equal(ways.begin(), ways.end(), known.begin(), known.end(), same)) return list;
  }
  // The graph is so irregular that its lists fill the table: use one of the ports.
  if (ports_.size() + ways.size() > 1U << (32 - kCountBits)) return single;
  const auto made = static_cast<std::uint32_t>(ports_.size() << kCountBits | ways.size());
  for (const std::uint32_t edge : ways) ports_.push_back(ports_[edge]);
  lists.push_back(made);
  return made;
}

std::span<const PortId> Routes::ports_of(std::uint32_t list) const {
  return {ports_.data() + (list >> kCountBits), list & kMostWays};
}

std::span<const PortId> Routes::ways(NodeId from_switch, NodeId to_nic) const {
  const std::uint32_t list = *cell(from_switch, to_nic);
  if (list != kHere) return ports_of(list);
  std::uint32_t first = first_hop_[to_nic.value()];
  std::uint32_t last = first_hop_[to_nic.value() + 1];
  if (last - first > 1) {
    while (last_switches_[first] != from_switch) ++first;
    while (last_switches_[last - 1] != from_switch) --last;
  }
  return {last_ports_.data() + first, last - first};
}

std::uint32_t Routes::distance(NodeId from_nic, NodeId to_nic) const {
  std::uint32_t nearest = kFar;
  for (const NodeId first : groups_[group_[from_nic.value()]]) {
    NodeId at = first;
    std::uint32_t cables = 2;  // the first and the last cable
    while (*cell(at, to_nic) != kHere) {
      const auto on = ways(at, to_nic);
      if (on.empty()) break;
      at = ends_[on[0].value()];
      ++cables;
    }
    if (*cell(at, to_nic) == kHere) nearest = std::min(nearest, cables);
  }
  return nearest == kFar ? 0 : nearest;
}

std::size_t Routes::bytes() const {
  return (table_.size() + row_.size() + group_.size() + first_hop_.size()) * sizeof(std::uint32_t) +
         (ports_.size() + last_ports_.size()) * sizeof(PortId) +
         (ends_.size() + last_switches_.size()) * sizeof(NodeId);
}

}  // namespace nerve::sim
