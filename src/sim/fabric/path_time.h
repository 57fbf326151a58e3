// The time a packet takes between two NICs in an empty network. Congestion control that depends on
// the round-trip time starts from it, and the bounds of jobs are computed from it.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

// From the first byte leaving one NIC to the last byte reaching the other, along a shortest path.
// Zero when there is no path.
[[nodiscard]] Duration path_time(Fabric& fabric, NodeId from, NodeId to, std::uint32_t bytes);

// A packet of this size one way and an acknowledgement back, between the first NIC of the network
// and the one farthest from it. With Valiant routing a packet takes at most two such ways.
[[nodiscard]] Duration longest_round_trip(Fabric& fabric, std::uint8_t network,
                                          std::uint32_t bytes);

}  // namespace nerve::sim
