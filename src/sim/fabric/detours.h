// Valiant routing on a dragonfly: a flow to another group goes through a third group first, chosen
// by its hash. Traffic between two groups is so spread over the cables of all groups, at the price
// of a second cable between groups for every flow (Valiant and Brebner, STOC 1981).
//
// A packet carries no extra state. Data that has not crossed a cable between groups yet has its
// first traffic class and is still in the group of its sender: it is routed towards a NIC of the
// third group. Once it has crossed one, its class is another, and it is routed to its destination.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/core/packet.h"
#include "sim/fabric/graph.h"
#include "sim/fabric/path_choice.h"

namespace nerve::sim {

class Detours {
 public:
  Detours() = default;
  // Groups are what is left connected without the cables between groups.
  explicit Detours(const Graph& graph);

  // Where a packet that is still in the group of its sender is routed towards: a NIC of a third
  // group; its destination if that is in the same group, or if there is no third group.
  [[nodiscard]] NodeId towards(NodeId from_switch, const Packet& packet) const {
    const std::uint32_t here = group_[from_switch.value()];
    const std::uint32_t there = group_[packet.destination.value()];
    const Range& all = networks_[network_[from_switch.value()]];
    if (here == there || all.count < 3) return packet.destination;
    std::uint32_t via = all.first + mix(packet.flow_hash, kGroupSalt) % (all.count - 2);
    if (via >= std::min(here, there)) ++via;
    if (via >= std::max(here, there)) ++via;
    const Range& nics = nics_of_[via];
    if (nics.count == 0) return packet.destination;  // no route leads to a group without NICs
    return nics_[nics.first + mix(packet.flow_hash, kNicSalt) % nics.count];
  }

 private:
  // Other than those of switches, so that the two choices are independent of theirs.
  static constexpr std::uint32_t kGroupSalt = 0x5eed'0001;
  static constexpr std::uint32_t kNicSalt = 0x5eed'0002;

  struct Range {
    std::uint32_t first{};
    std::uint32_t count{};
  };
  void number_groups(const Graph& graph);

  std::vector<std::uint32_t> group_;   // per node
  std::vector<std::uint8_t> network_;  // per node
  std::vector<Range> networks_;        // the groups of each network
  std::vector<Range> nics_of_;         // per group, in nics_
  std::vector<NodeId> nics_;
};

}  // namespace nerve::sim
