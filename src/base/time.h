// Time for an engine that has no clock: the caller passes every instant.
//
// The unit is the picosecond, because a simulated 800G link sends a byte in ten of them. An instant
// lives on a ring of 2^64 ps (213 days), so that a long-lived process may run past the wrap.
// "Before" is the sign of the difference, which is right while two instants lie within 106 days of
// each other.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>

namespace nerve {

using Duration = std::chrono::duration<std::int64_t, std::pico>;

class Time {
 public:
  constexpr Time() = default;
  constexpr explicit Time(Duration since_start)
      : ps_{static_cast<std::uint64_t>(since_start.count())} {}

  [[nodiscard]] constexpr std::uint64_t picoseconds() const { return ps_; }

  friend constexpr bool operator==(Time, Time) = default;
  friend constexpr std::strong_ordering operator<=>(Time a, Time b) {
    return (a - b).count() <=> std::int64_t{0};
  }
  friend constexpr Duration operator-(Time a, Time b) {
    return Duration{static_cast<std::int64_t>(a.ps_ - b.ps_)};
  }
  friend constexpr Time operator+(Time t, Duration d) {
    t.ps_ += static_cast<std::uint64_t>(d.count());
    return t;
  }
  friend constexpr Time operator-(Time t, Duration d) { return t + -d; }
  constexpr Time& operator+=(Duration d) { return *this = *this + d; }

 private:
  std::uint64_t ps_{};
};

static_assert(Time{Duration{1}} > Time{});
static_assert(Time{Duration{-1}} < Time{});  // across the wrap

}  // namespace nerve
