// When a queue marks packets that pass it (random early detection): never below `low`, always above
// `high`, and with a chance that grows between them.
#pragma once

#include <cstdint>

#include "base/prng.h"

namespace nerve::sim {

struct MarkingConfig {
  std::uint64_t low{400'000};  // bytes in the queue
  std::uint64_t high{1'600'000};
  std::uint32_t per_million{200'000};  // the chance just below `high`
  bool on{true};
};

[[nodiscard]] inline bool marks(const MarkingConfig& config, std::uint64_t queued, Prng& prng) {
  if (!config.on || queued <= config.low) return false;
  if (queued >= config.high) return true;
  const std::uint64_t chance =
      config.per_million * (queued - config.low) / (config.high - config.low);
  return prng.below(1'000'000) < chance;
}

}  // namespace nerve::sim
