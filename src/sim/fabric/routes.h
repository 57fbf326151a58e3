// Which ports of a switch lead to a NIC by a shortest way: all of them, since choosing among them
// is a policy (path_choice.h).
//
// NICs that hang on the same switches are reached alike until the last hop, so that a table has a
// column for each such group and not for each NIC. Equal lists of ports are kept once. Where groups
// of switches are joined (Cable::between_groups), crossing from one to another counts as much as
// three other cables: within a group, over, and within the other is shorter than over twice.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/fabric/graph.h"

namespace nerve::sim {

class Routes {
 public:
  // More equally good ways out of a switch than this are not used.
  static constexpr std::uint32_t kMostWays = 1023;
  // More cables between switches there cannot be.
  static constexpr std::uint32_t kMostCables = 1U << 21;

  // Cables that are down lead nowhere; `down` holds a flag for each cable, or is empty.
  explicit Routes(const Graph& graph, const std::vector<bool>& down = {});

  // Empty when no way leads there.
  [[nodiscard]] std::span<const PortId> ways(NodeId from_switch, NodeId to_nic) const;
  // Cables between the two NICs by a shortest way; zero when there is none.
  [[nodiscard]] std::uint32_t distance(NodeId from_nic, NodeId to_nic) const;
  [[nodiscard]] std::size_t bytes() const;
  // Into the cache: ways() of these two will be asked for.
  void fetch(NodeId from_switch, NodeId to_nic) const {
    __builtin_prefetch(cell(from_switch, to_nic));
  }

 private:
  static constexpr std::uint32_t kHere = 0xffff'ffff;

  // A switch that a NIC hangs on, and its port there.
  struct LastHop {
    NodeId at{};
    PortId by{};
  };
  // While the table is made: the cables between switches, seen from one of them.
  struct Edge {
    std::uint32_t to{};  // its row
    std::uint32_t cost{};
  };
  struct Making {
    std::vector<std::uint32_t> first;  // of each row, in edges; and one more
    std::vector<Edge> edges;           // edge i goes by port ports_[i]
    std::vector<NodeId> switches;      // of each row
    std::vector<std::uint32_t> cost;
    std::vector<std::vector<std::uint32_t>> lists;  // that each row has used
    std::vector<std::uint32_t> ways;                // edges, the first `count`
    std::uint32_t count{};
    std::size_t unreached{};  // rows
    bool uneven{};            // not all cables cost the same
    std::vector<std::uint32_t> rings[4];
  };

  // Where the table says how to get there; kHere when the NIC hangs on the switch itself.
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

  std::vector<std::uint32_t> row_;           // of a node that is a switch
  std::vector<std::uint32_t> group_;         // of a node that is a NIC
  std::vector<std::uint32_t> first_hop_;     // of a node that is a NIC, in the next two
  std::vector<NodeId> last_switches_;        // of each NIC in turn, sorted
  std::vector<PortId> last_ports_;           // of those switches, to it
  std::vector<NodeId> ends_;                 // of a port: the node at its other end
  std::vector<std::vector<NodeId>> groups_;  // the switches that each hangs on
  std::vector<std::uint32_t> table_;         // row * groups + group: a list
  std::vector<PortId> ports_;                // of all lists; first those of one port each
};

}  // namespace nerve::sim
