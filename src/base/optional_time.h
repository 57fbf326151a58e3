// A time or none, in eight bytes instead of the sixteen of std::optional<Time>. A time that cannot
// be told from none is stored as the one before it.
#pragma once

#include <optional>

#include "base/time.h"

namespace nerve {

class OptionalTime {
 public:
  constexpr OptionalTime() = default;
  constexpr OptionalTime(std::nullopt_t) {}  // NOLINT(google-explicit-constructor)
  constexpr OptionalTime(Time time)          // NOLINT(google-explicit-constructor)
      : time_{time == kNone ? time - Duration{1} : time} {}

  constexpr explicit operator bool() const { return time_ != kNone; }
  constexpr Time operator*() const { return time_; }
  constexpr void reset() { time_ = kNone; }
  constexpr operator std::optional<Time>() const {  // NOLINT(google-explicit-constructor)
    return *this ? std::optional{time_} : std::nullopt;
  }

 private:
  static constexpr Time kNone{Duration{-1}};

  Time time_{kNone};
};

}  // namespace nerve
