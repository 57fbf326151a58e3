// One network of a scenario: its shape, its cables, its switches.
#pragma once

#include <cstdint>
#include <string>

#include "base/rate.h"
#include "base/time.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim {

enum class TopologyKind : std::uint8_t {
  kStar,
  kDumbbell,
  kLeafSpine,
  kFatTree,
  kRailOptimised,  // leaf-spine; each leaf connects one rail of many servers
  kRailOnly,       // one switch per rail, no spines
  kDualPlane,      // the two ports of each NIC are in two separate networks
  kDragonfly,
  kFile,
};

// A topology uses the numbers named after it. Zero: build_network() chooses.
struct NetworkSpec {
  TopologyKind topology{TopologyKind::kLeafSpine};
  Rate nic_rate{Rate::gigabits(400)};  // not for a file: its cables have rates
  // Where a scenario file sets nic_rate, to begin an error with: "x.toml:4: fabric.nic_rate: ".
  // Empty: it does not.
  std::string nic_rate_at{};
  Rate trunk_rate{};  // zero: nic_rate, or what the given spines require
  Duration nic_delay{std::chrono::nanoseconds{100}};
  Duration trunk_delay{std::chrono::nanoseconds{300}};

  std::uint32_t trunks{1};               // dumbbell: cables between its two switches
  std::uint32_t nics_per_leaf{};         // leaf-spine, rail-optimised, dual-plane
  std::uint32_t spines{};                // leaf-spine, rail-optimised, dual-plane
  double oversubscription{1};            // capacity towards NICs over capacity towards spines
  std::uint32_t ports_per_switch{};      // fat tree: k
  std::uint32_t routers_per_group{};     // dragonfly: a
  std::uint32_t nics_per_router{};       // dragonfly: p
  std::uint32_t cables_out_of_router{};  // dragonfly: h
  std::string file;                      // absolute, or relative to the scenario

  FabricConfig switches{};
};

}  // namespace nerve::sim
