// The round trip of a QP's packets, smoothed as TCP does it (RFC 6298): its mean and how far
// samples lie from it.
//
// One packet at a time is measured, one that asked for an acknowledgement. After a retransmission
// an answer may be to either copy, so the measurement is dropped (Karn's rule).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"

namespace nerve::nic {

class SmoothedRoundTrip {
 public:
  // A packet that asks for an acknowledgement left for the first time.
  void on_send(Psn psn, Time now) {
    if (measuring_) return;
    measuring_ = true;
    psn_ = psn;
    sent_ = now;
  }

  // Everything before `unacked` is acknowledged.
  void on_ack(Psn unacked, Time now) {
    if (!measuring_ || psn_.distance_from(unacked) >= 0) return;
    measuring_ = false;
    // Bounded, for a clock may jump.
    const auto sample =
        std::clamp(std::chrono::duration_cast<Nanoseconds>(now - sent_), Nanoseconds{1}, kLongest);
    if (mean_ == Nanoseconds{}) {
      mean_ = sample;
      deviation_ = sample / 2;
      return;
    }
    const Nanoseconds error = sample > mean_ ? sample - mean_ : mean_ - sample;
    deviation_ += (error - deviation_) / 4;
    mean_ += (sample - mean_) / 8;
  }

  void forget() { measuring_ = false; }

  // An answer that takes longer than this is late; none while nothing has been measured.
  [[nodiscard]] std::optional<Duration> patience() const {
    if (mean_ == Nanoseconds{}) return std::nullopt;
    return Duration{mean_} + std::max(Duration{mean_}, 4 * Duration{deviation_});
  }

 private:
  // Small, for every QP has one.
  using Nanoseconds = std::chrono::duration<std::int32_t, std::nano>;
  static constexpr Nanoseconds kLongest{1'000'000'000};

  Time sent_{};
  Nanoseconds mean_{};  // zero: nothing measured yet
  Nanoseconds deviation_{};
  Psn psn_{};
  bool measuring_{};
};

}  // namespace nerve::nic
