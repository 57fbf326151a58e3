// How a fabric is divided into parts that run at the same time.
//
// A NIC with one cable is in the part of its switch; all other cables may lead from one part to
// another. What happens at one end of such a cable reaches the other end no sooner than the cable's
// delay, so for that long the parts can run without looking at each other.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "sim/fabric/graph.h"

namespace nerve::sim {

inline constexpr std::uint32_t kMostParts = 1024;

// The shortest delay of all cables that may be cut, however many parts there are; the longest
// possible time if there are none.
[[nodiscard]] Duration shortest_cut(const Graph& graph);

// The part of each node, at most this many parts. Switches with NICs are divided in their order,
// with about equal numbers of NICs; other switches join the part that all their NICs' switches are
// in, or are dealt out.
[[nodiscard]] std::vector<std::uint16_t> divide(const Graph& graph, std::uint32_t parts);

}  // namespace nerve::sim
