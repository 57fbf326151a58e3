// Indexes of the objects of a simulation, which lie in flat arrays.
#pragma once

#include "base/ids.h"

namespace nerve::sim {

using NodeId = Id<struct NodeTag, std::uint32_t, 32>;  // a switch or a NIC
using PortId = Id<struct PortTag, std::uint32_t, 32>;  // one end of a cable
using CableId = Id<struct CableTag, std::uint32_t, 32>;
using PacketId = Id<struct PacketTag, std::uint32_t, 32>;

inline constexpr std::uint32_t kNobody = 0xffff'ffff;
inline constexpr PacketId kNoPacket{kNobody};
inline constexpr PortId kNoPort{kNobody};

}  // namespace nerve::sim
