// The machine's monotonic clock, in the engine's terms.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/time.h"

namespace nerve::host {

[[nodiscard]] inline Time now() {
  timespec at{};
  ::clock_gettime(CLOCK_MONOTONIC, &at);
  // Unsigned, because it wraps: a machine may be up for longer than 106 days.
  const std::uint64_t ps = static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000'000U +
                           static_cast<std::uint64_t>(at.tv_nsec) * 1'000U;
  return Time{Duration{static_cast<std::int64_t>(ps)}};
}

}  // namespace nerve::host
