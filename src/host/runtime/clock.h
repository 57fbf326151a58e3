// The machine's clocks, as the engine's Time.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/time.h"

namespace nerve::host {

// Unsigned arithmetic, because Time wraps after 106 days of uptime.
[[nodiscard]] inline std::uint64_t clock_ns(clockid_t clock) {
  timespec at{};
  ::clock_gettime(clock, &at);
  return static_cast<std::uint64_t>(at.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(at.tv_nsec);
}

[[nodiscard]] inline Time now() {
  return Time{Duration{static_cast<std::int64_t>(clock_ns(CLOCK_MONOTONIC) * 1'000U)}};
}

[[nodiscard]] inline std::uint64_t wall_clock_ns() { return clock_ns(CLOCK_REALTIME); }

}  // namespace nerve::host
