// Spaces a QP's frames so that it keeps to its rate, in small bursts.
//
// Two mechanisms keep the rate exact. The fraction of a picosecond that a frame takes is carried
// over to the next one, so that rounding errors do not accumulate. And a sender that is woken late
// may catch up: the schedule may lag behind the clock by at most the time of the burst allowance,
// which bounds both the loss from timer jitter and the number of bytes sent back to back. A link
// that sends trains wants an allowance of one train; a simulator has exact timers and wants none.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::nic {

class Pacer {
 public:
  // Four frames of the largest MTU: 1.3 us at 100 Gb/s, 13 us at 10.
  static constexpr std::uint32_t kTrainBurst = 16 * 1024;

  explicit constexpr Pacer(std::uint32_t burst_bytes = 0) : burst_bytes_{burst_bytes} {}

  // When the next frame may be sent; `now` or earlier means immediately.
  [[nodiscard]] constexpr Time next_send() const { return next_send_; }
  [[nodiscard]] constexpr bool may_send(Time now) const {
    return next_send_ <= now || is_ancient(now);
  }

  // An idle QP accumulates no credit beyond the burst allowance. A rate of zero means "not
  // limited": the frame takes no time.
  constexpr void on_send(std::uint64_t bytes, Rate rate, Time now) {
    if (rate == Rate{}) return reset(now);
    if (next_send_ < now || is_ancient(now)) catch_up(rate, now);
    if (rate != rate_) {
      rate_ = rate;
      remainder_ = 0;
    }
    advance(bytes);
    longest_wait_ = next_send_ - now;
  }
  // Treats the last frame as if it had been sent at the new rate, so that the gap after it matches
  // the new rate.
  constexpr void change_rate(Rate rate) {
    if (rate == rate_ || rate == Rate{} || rate_ == Rate{}) return;
    const Duration longer = rate.time_to_send(last_bytes_) - rate_.time_to_send(last_bytes_);
    next_send_ += longer;
    longest_wait_ += longer;
    rate_ = rate;
    remainder_ = 0;
  }
  constexpr void reset(Time now) {
    next_send_ = now;
    longest_wait_ = {};
    remainder_ = 0;
  }

 private:
  __extension__ using Wide = unsigned __int128;
  static constexpr std::uint64_t kPicosPerByte = 8'000'000'000'000;  // at one bit per second
  // Below this the product fits into 64 bits, and a division costs a few cycles instead of a call.
  static constexpr std::uint64_t kNarrow = 1U << 20;
  static constexpr std::uint64_t kLargestFrame = ~std::uint32_t{0};

  // A next_send_ further ahead than the last frame can have put it is a time of months ago, across
  // the wrap, or the zero of an engine that has not been given the time yet.
  [[nodiscard]] constexpr bool is_ancient(Time now) const {
    return next_send_ - now > longest_wait_;
  }
  constexpr void catch_up(Rate rate, Time now) {
    const Time earliest = burst_bytes_ == 0 ? now : now - rate.time_to_send(burst_bytes_);
    if (next_send_ < earliest || is_ancient(now)) reset(earliest);
  }
  constexpr void advance(std::uint64_t bytes) {
    last_bytes_ = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, kLargestFrame));
    const std::uint64_t bps = rate_.bits_per_second();
    if (bytes < kNarrow) {
      const std::uint64_t work = bytes * kPicosPerByte + remainder_;
      next_send_ += Duration{static_cast<std::int64_t>(work / bps)};
      remainder_ = work % bps;
    } else {
      const Wide work = Wide{bytes} * kPicosPerByte + remainder_;
      next_send_ += Duration{static_cast<std::int64_t>(work / bps)};
      remainder_ = static_cast<std::uint64_t>(work % bps);
    }
  }

  Time next_send_{};
  Duration longest_wait_{};     // next_send_ is never further ahead of `now`
  Rate rate_{};                 // the rate at which remainder_ is counted
  std::uint64_t remainder_{};   // of a picosecond, in units of 1 / rate
  std::uint32_t last_bytes_{};  // of the frame sent last
  std::uint32_t burst_bytes_{};
};

}  // namespace nerve::nic
