// A cable's rate as a factor: picoseconds per byte, in units of 2^-16.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::sim {

inline constexpr std::uint32_t kCutThroughHead =
    64;  // bytes that a switch must receive to find the route

class Line {
 public:
  constexpr Line() = default;
  explicit constexpr Line(Rate rate)
      : per_byte_{(8'000'000'000'000ULL * 65536 / 1000 + rate.bits_per_second() / 1000 - 1) /
                  (rate.bits_per_second() / 1000)} {}

  [[nodiscard]] constexpr Duration time_of(std::uint32_t bytes) const {
    return Duration{static_cast<std::int64_t>((bytes * per_byte_ + 0xffff) >> 16U)};
  }

 private:
  std::uint64_t per_byte_{};
};

static_assert(Line{Rate::gigabits(100)}.time_of(1) == Duration{80});
static_assert(Line{Rate::gigabits(800)}.time_of(4096) == Duration{40960});

}  // namespace nerve::sim
