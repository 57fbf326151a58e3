// What a scenario says of one network: its shape, its cables, its switches.
#pragma once

#include <cstdint>
#include <string>

#include "base/rate.h"
#include "base/time.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

enum class TopologyKind : std::uint8_t {
  kStar,
  kDumbbell,
  kLeafSpine,
  kFatTree,
  kRailOptimised,  // leaf-spine whose leaves each take one rail of many servers
  kRailOnly,       // the rails apart: no spine
  kDualPlane,      // each NIC's two ports in two networks that never meet
  kDragonfly,
  kFile,
};

// Of each kind those numbers count that its shape has; zero where the scenario leaves the choice to
// us.
struct NetworkSpec {
  TopologyKind topology{TopologyKind::kLeafSpine};
  Rate nic_rate{Rate::gigabits(400)};
  Rate trunk_rate{};  // zero: as the NICs, or as fast as the spines given need it
  Duration nic_delay{std::chrono::nanoseconds{100}};
  Duration trunk_delay{std::chrono::nanoseconds{300}};

  std::uint32_t trunks{1};               // dumbbell: cables between its two switches
  std::uint32_t nics_per_leaf{};         // leaf-spine, rail-optimised, dual-plane
  std::uint32_t spines{};                // leaf-spine, rail-optimised, dual-plane
  double oversubscription{1};            // what a leaf has downwards to what it has upwards
  std::uint32_t ports_per_switch{};      // fat tree: k
  std::uint32_t routers_per_group{};     // dragonfly: a
  std::uint32_t nics_per_router{};       // dragonfly: p
  std::uint32_t cables_out_of_router{};  // dragonfly: h
  std::string file;                      // absolute, or beside the scenario

  FabricConfig switches{};
};

}  // namespace nerve::sim
