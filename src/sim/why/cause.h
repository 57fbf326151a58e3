// The causes that a diagnosis knows.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nerve::sim {

enum class Cause : std::uint8_t {
  kCollisions,
  kTooFewCables,
  kIncast,
  kPauses,
  kLosses,
  kHeldBack,
  kCableDown,
  kSlowCable,
  kBusyNics,
  kSlowGpu,
  kInterconnect,
  kLatency,
  kExposed,
  kUnexplained,
};

inline constexpr std::array<std::string_view, 14> kCauseNames{
    "collisions",   "too-few-cables", "incast",     "pauses",     "losses",
    "held-back",    "cable-down",     "slow-cable", "busy-nics",  "slow-gpu",
    "interconnect", "latency",        "exposed",    "unexplained"};

[[nodiscard]] constexpr std::string_view name_of(Cause cause) {
  return kCauseNames[static_cast<std::size_t>(cause)];
}

}  // namespace nerve::sim
