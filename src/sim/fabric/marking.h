// ECN marking by queue length (random early detection): never below `low`, always above `high`,
// with a probability that grows linearly between them.
#pragma once

#include <cstdint>

#include "base/prng.h"
#include "sim/scenario/switch_spec.h"

namespace nerve::sim {

[[nodiscard]] inline bool marks(const MarkingConfig& config, std::uint64_t queued, Prng& prng) {
  if (!config.on || queued <= config.low) return false;
  if (queued >= config.high) return true;
  const std::uint64_t chance =
      config.per_million * (queued - config.low) / (config.high - config.low);
  return prng.below(1'000'000) < chance;
}

}  // namespace nerve::sim
