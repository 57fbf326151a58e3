// All ports of a switch on shortest paths to a NIC. The choice among them is a policy
// (path_choice.h).
//
// NICs attached to the same switches have the same routes up to the last hop, so the table has a
// column for each such group instead of one for each NIC. Equal port lists are stored once. A cable
// between groups of switches (Cable::between_groups) costs as much as three others: a path through
// two switches of one group, across, and through two of the other is shorter than one that crosses
// twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/fetch_lines.h"
#include "sim/fabric/graph.h"

namespace nerve::sim {

class Routes {
 public:
  // The largest number of equal-cost ports used; others are ignored.
  static constexpr std::uint32_t kMostWays = 1023;
  // The limit on cables between switches.
  static constexpr std::uint32_t kMostCables = 1U << 21;

  // `down` has a flag for each cable, or is empty. Routes do not use cables that are down.
  explicit Routes(const Graph& graph, const std::vector<bool>& down = {});

  // Empty when there is no path.
  [[nodiscard]] std::span<const PortId> ways(NodeId from_switch, NodeId to_nic) const;
  // The number of cables on a shortest path; zero when there is none.
  [[nodiscard]] std::uint32_t distance(NodeId from_nic, NodeId to_nic) const;
  [[nodiscard]] std::size_t bytes() const;
  // Prefetches for ways() with these arguments.
  void fetch(NodeId from_switch, NodeId to_nic) const { fetch_line(cell(from_switch, to_nic)); }

 private:
  static constexpr std::uint32_t kHere = 0xffff'ffff;

  // A switch that a NIC is attached to, and the switch's port.
  struct LastHop {
    NodeId at{};
    PortId by{};
  };
  // State used while the table is built. An edge is a cable between switches, seen from one of
  // them.
  struct Edge {
    std::uint32_t to{};  // the row of the switch at the other end
    std::uint32_t cost{};
  };
  struct Making {
    std::vector<std::uint32_t> first;  // per row, an index into `edges`; one extra at the end
    std::vector<Edge> edges;           // edge i uses port ports_[i]
    std::vector<NodeId> switches;      // per row
    std::vector<std::uint32_t> cost;
    std::vector<std::vector<std::uint32_t>> lists;  // lists stored so far, per row
    std::vector<std::uint32_t> ways;  // edges on shortest paths; the first `count` are valid
    std::uint32_t count{};
    std::size_t unreached{};  // number of rows
    bool uneven{};            // cables differ in cost
    std::vector<std::uint32_t> rings[4];
  };

  // The table's entry: a port list, or kHere when the NIC is attached to the switch.
  [[nodiscard]] const std::uint32_t* cell(NodeId from_switch, NodeId to_nic) const {
    return &table_[std::size_t{row_[from_switch.value()]} * groups_.size() +
                   group_[to_nic.value()]];
  }
  [[nodiscard]] std::span<const PortId> ports_of(std::uint32_t list) const;
  void number_switches(const Graph& graph, Making& making);
  void find_edges(const Graph& graph, const std::vector<bool>& down, Making& making);
  void find_groups(const Graph& graph);
  void fill_column(std::uint32_t group, Making& making);
  void settle(std::uint32_t row, std::uint32_t cost, std::uint32_t group, Making& making);
  std::uint32_t intern(std::uint32_t row, Making& making);

  std::vector<std::uint32_t> row_;           // per node; for switches
  std::vector<std::uint32_t> group_;         // per node; for NICs
  std::vector<std::uint32_t> first_hop_;     // per node; for NICs: an index into the next two
  std::vector<NodeId> last_switches_;        // per NIC, sorted
  std::vector<PortId> last_ports_;           // the ports of these switches that lead to the NIC
  std::vector<NodeId> ends_;                 // per port: the node at the other end of its cable
  std::vector<std::vector<NodeId>> groups_;  // per group: its switches
  std::vector<std::uint32_t> table_;         // row * groups + group -> a port list
  std::vector<PortId> ports_;                // all port lists; the lists of one port come first
};

}  // namespace nerve::sim
