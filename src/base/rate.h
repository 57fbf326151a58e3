// A rate in bits per second, and the time that a number of bytes takes at that rate.
#pragma once

#include <compare>
#include <cstdint>

#include "base/check.h"
#include "base/time.h"

namespace nerve {

class Rate {
 public:
  constexpr Rate() = default;
  static constexpr Rate bits_per_second(std::uint64_t bps) { return Rate{bps}; }
  static constexpr Rate megabits(std::uint64_t n) { return Rate{n * 1'000'000}; }
  static constexpr Rate gigabits(std::uint64_t n) { return Rate{n * 1'000'000'000}; }

  [[nodiscard]] constexpr std::uint64_t bits_per_second() const { return bps_; }

  // Rounds up, so that a paced sender never runs ahead of its rate. A time that does not fit (more
  // than 106 days) saturates: a sum that wrapped would let the sender go immediately.
  [[nodiscard]] constexpr Duration time_to_send(std::uint64_t bytes) const {
    CHECK(bps_ > 0);
    __extension__ using Wide = unsigned __int128;
    const auto bits = static_cast<Wide>(bytes) * 8U * 1'000'000'000'000U;
    const Wide time = (bits + bps_ - 1) / bps_;
    constexpr auto kLongest = static_cast<Wide>(Duration::max().count());
    return Duration{static_cast<std::int64_t>(time < kLongest ? time : kLongest)};
  }

  friend constexpr bool operator==(Rate, Rate) = default;
  friend constexpr auto operator<=>(Rate a, Rate b) { return a.bps_ <=> b.bps_; }

 private:
  constexpr explicit Rate(std::uint64_t bps) : bps_{bps} {}
  std::uint64_t bps_{};
};

static_assert(Rate::gigabits(800).time_to_send(1) == Duration{10});

}  // namespace nerve
