// Admits events at a limited rate: up to `burst` at once, then one per `interval`.
//
// The bucket is a single instant, at which it would be full again (the "virtual scheduling" form of
// the leaky bucket, ITU-T I.371). It needs no timer and does not drift.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve {

class TokenBucket {
 public:
  // Whether an event at `now` would be admitted.
  [[nodiscard]] constexpr bool has_token(Duration interval, std::uint32_t burst, Time now) const {
    return owed(interval, burst, now) + interval <= interval * burst;
  }
  // Admits an event if there is a token for it.
  [[nodiscard]] constexpr bool take(Duration interval, std::uint32_t burst, Time now) {
    if (!has_token(interval, burst, now)) return false;
    full_at_ = now + owed(interval, burst, now) + interval;
    if (full_at_ == kFull) full_at_ += Duration{1};
    return true;
  }

 private:
  static constexpr Time kFull{};

  // The time until the bucket is full. An instant further ahead than an empty bucket needs is in
  // the past, across the wrap of Time.
  [[nodiscard]] constexpr Duration owed(Duration interval, std::uint32_t burst, Time now) const {
    if (full_at_ == kFull) return {};
    const Duration ahead = full_at_ - now;
    return ahead < Duration{} || ahead > interval * burst ? Duration{} : ahead;
  }

  Time full_at_{kFull};
};

}  // namespace nerve
