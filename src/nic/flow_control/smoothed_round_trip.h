// The smoothed round trip of a QP's packets (RFC 6298, as in TCP): mean and mean deviation.
//
// One packet with an ACK request is measured at a time. After a retransmission an ACK may answer
// either copy, so the measurement is discarded (Karn's rule).
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
  // A packet with an ACK request was sent for the first time.
  void on_send(Psn psn, Time now) {
    if (measuring_) return;
    measuring_ = true;
    psn_ = psn;
    sent_ = now;
  }

  // Everything before `unacked` is acknowledged. Returns true when that yielded a sample.
  bool on_ack(Psn unacked, Time now) {
    if (!measuring_ || psn_.distance_from(unacked) >= 0) return false;
    measuring_ = false;
    // Bounded, because a clock may jump.
    const auto sample =
        std::clamp(std::chrono::duration_cast<Nanoseconds>(now - sent_), Nanoseconds{1}, kLongest);
    if (mean_ == Nanoseconds{}) {
      mean_ = sample;
      deviation_ = sample / 2;
      return true;
    }
    const Nanoseconds error = sample > mean_ ? sample - mean_ : mean_ - sample;
    deviation_ += (error - deviation_) / 4;
    mean_ += (sample - mean_) / 8;
    return true;
  }

  void forget() { measuring_ = false; }

  // An answer that takes longer than this is late; nullopt before the first sample.
  [[nodiscard]] std::optional<Duration> patience() const {
    if (mean_ == Nanoseconds{}) return std::nullopt;
    return Duration{mean_} + std::max(Duration{mean_}, 4 * Duration{deviation_});
  }

 private:
  // 32 bits, because every QP has one.
  using Nanoseconds = std::chrono::duration<std::int32_t, std::nano>;
  static constexpr Nanoseconds kLongest{1'000'000'000};

  Time sent_{};
  Nanoseconds mean_{};  // zero: nothing measured yet
  Nanoseconds deviation_{};
  Psn psn_{};
  bool measuring_{};
};

}  // namespace nerve::nic
