// How long a packet takes between two NICs when nothing else is on its way: what congestion control
// that counts in round trips starts from, and what bounds are worked out from.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

// From the first byte leaving one NIC to the last one reaching the other, by a shortest way. Zero
// when there is none.
[[nodiscard]] Duration path_time(Fabric& fabric, NodeId from, NodeId to, std::uint32_t bytes);

// There with a packet of this size and back with an acknowledgement, between the two NICs of one
// network that are farthest apart as seen from its first.
[[nodiscard]] Duration longest_round_trip(Fabric& fabric, std::uint8_t network,
                                          std::uint32_t bytes);

}  // namespace nerve::sim
