// ECN marking by queue length (random early detection): never below `low`, always above `high`,
// with a probability that grows linearly between them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/prng.h"
#include "base/rate.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim {

// Of one port.
struct MarkingThresholds {
  std::uint64_t low{};
  std::uint64_t high{};
  friend bool operator==(const MarkingThresholds&, const MarkingThresholds&) = default;
};

[[nodiscard]] inline MarkingThresholds thresholds_of(const MarkingConfig& config, Rate rate) {
  if (!config.per_gigabit) return {config.low, config.high};
  const std::uint64_t gigabits = std::max<std::uint64_t>(rate.bits_per_second() / 1'000'000'000, 1);
  return {config.low * gigabits, config.high * gigabits};
}

[[nodiscard]] inline bool marks(const MarkingConfig& config, const MarkingThresholds& at,
                                std::uint64_t queued, Prng& prng) {
  if (!config.on || queued <= at.low) return false;
  if (queued >= at.high) return true;
  const std::uint64_t chance = config.per_million * (queued - at.low) / (at.high - at.low);
  return prng.below(1'000'000) < chance;
}

}  // namespace nerve::sim
