// Common fabrics as graphs. Each is a pure function in its own file. build_network.h chooses the
// values that a scenario leaves open and rejects what cannot be built.
//
// NICs come first, in the order of their servers: NIC n is node n. docs/topologies.md has drawings.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/fabric/graph.h"

namespace nerve::sim {

struct Links {
  Rate rate{Rate::gigabits(100)};   // of a NIC
  Rate trunk{Rate::gigabits(100)};  // between switches
  Duration delay{std::chrono::microseconds{1}};
  std::optional<Duration> trunk_delay{};  // none: same as `delay`

  [[nodiscard]] Duration between_switches() const { return trunk_delay.value_or(delay); }
};

// A single switch.
[[nodiscard]] Graph star(std::uint32_t nics, const Links& links);

// Two switches with `trunks` cables between them. The first half of the NICs is on the left.
[[nodiscard]] Graph dumbbell(std::uint32_t nics, std::uint32_t trunks, const Links& links);

// Each leaf is connected to each spine by one cable. The last leaf may have fewer NICs.
struct LeafSpine {
  std::uint32_t leaves{};
  std::uint32_t spines{};
  std::uint32_t nics_per_leaf{};
  std::uint32_t nics{};  // zero: all that fit
};
[[nodiscard]] Graph leaf_spine(const LeafSpine& shape, const Links& links);

// Three tiers of k-port switches (Al-Fares et al., SIGCOMM 2008): k pods of k/2 edge and k/2
// aggregation switches, k^2/4 core switches, k^3/4 NICs. k is even. With fewer NICs the last ones
// are left out, and pods without NICs too.
[[nodiscard]] Graph fat_tree(std::uint32_t k, const Links& links, std::uint32_t nics = 0);

// One leaf per rail and group of servers: leaf g * rails + r connects NIC r of the servers of group
// g. With no spines, the rails are separate.
struct Rails {
  std::uint32_t servers{};
  std::uint32_t rails{};             // NICs per server
  std::uint32_t servers_per_leaf{};  // servers per group
  std::uint32_t spines{};
};
[[nodiscard]] Graph rails(const Rails& shape, const Links& links);

// Two copies of the same network (as in Alibaba's HPN, SIGCOMM 2024): each NIC has a cable of
// `links.rate` to a leaf of each plane; `spines` counts those of one plane.
[[nodiscard]] Graph dual_plane(const Rails& shape, const Links& links);

// Groups of fully connected routers. Each pair of groups is connected by as many cables as there
// are ports (Kim et al., ISCA 2008).
struct Dragonfly {
  std::uint32_t groups{};
  std::uint32_t routers{};          // a: per group
  std::uint32_t nics_per_router{};  // p
  std::uint32_t cables_out{};       // h: per router, to other groups
  std::uint32_t nics{};             // zero: all that fit
};
[[nodiscard]] Graph dragonfly(const Dragonfly& shape, const Links& links);

}  // namespace nerve::sim
