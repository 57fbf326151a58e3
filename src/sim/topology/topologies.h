// Fabrics that people build, as graphs. Each is a pure function in a file of its own; what a
// scenario leaves out is chosen, and what cannot be built refused, in build_network.h.
//
// NICs come first, in the order of their servers: NIC number n is node n in every one of them.
// docs/topologies.md draws them.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/fabric/graph.h"

namespace nerve::sim {

struct Links {
  Rate rate{Rate::gigabits(100)};   // of a NIC
  Rate trunk{Rate::gigabits(100)};  // between switches
  Duration delay{std::chrono::microseconds{1}};
  std::optional<Duration> trunk_delay{};  // none: as `delay`

  [[nodiscard]] Duration between_switches() const { return trunk_delay.value_or(delay); }
};

// One switch.
[[nodiscard]] Graph star(std::uint32_t nics, const Links& links);

// Two switches with `trunks` cables between them; the first half of the NICs is on the left.
[[nodiscard]] Graph dumbbell(std::uint32_t nics, std::uint32_t trunks, const Links& links);

// Every leaf joined to every spine by one cable. The last leaf may have fewer NICs.
struct LeafSpine {
  std::uint32_t leaves{};
  std::uint32_t spines{};
  std::uint32_t nics_per_leaf{};
  std::uint32_t nics{};  // zero: as many as there is room for
};
[[nodiscard]] Graph leaf_spine(const LeafSpine& shape, const Links& links);

// Three tiers of switches of k ports (Al-Fares et al., SIGCOMM 2008): k pods of k/2 edge and k/2
// aggregation switches, k^2/4 core switches, k^3/4 NICs. k is even. With fewer NICs the last ones
// are left out, and the pods that would have none.
[[nodiscard]] Graph fat_tree(std::uint32_t k, const Links& links, std::uint32_t nics = 0);

// Leaves that take one rail each: leaf g * rails + r takes NIC r of the servers of group g. Joined
// by spines, or, without any, apart.
struct Rails {
  std::uint32_t servers{};
  std::uint32_t rails{};             // NICs of a server
  std::uint32_t servers_per_leaf{};  // in a group
  std::uint32_t spines{};
};
[[nodiscard]] Graph rails(const Rails& shape, const Links& links);

// The same twice (as in Alibaba's HPN, SIGCOMM 2024): each NIC has a cable of `links.rate` to a
// leaf of either plane; `spines` are those of a plane.
[[nodiscard]] Graph dual_plane(const Rails& shape, const Links& links);

// Groups of routers, each joined to each of its group; each group joined to each other by as many
// cables as there are ports for (Kim et al., ISCA 2008).
struct Dragonfly {
  std::uint32_t groups{};
  std::uint32_t routers{};          // of a group: a
  std::uint32_t nics_per_router{};  // p
  std::uint32_t cables_out{};       // of a router to other groups: h
  std::uint32_t nics{};             // zero: as many as there is room for
};
[[nodiscard]] Graph dragonfly(const Dragonfly& shape, const Links& links);

}  // namespace nerve::sim
