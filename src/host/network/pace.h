// Paces unreliable packets sent by UDP.
//
// UC and UD have no flow control: there are no acknowledgements, and no link slows the sender down.
// A receive socket holds a few hundred kilobytes on most machines, and drops packets as soon as its
// reader is busy for a moment. So these packets are spaced at a rate with which a receiver can keep
// up while it also does other work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::host {

class Pace {
 public:
  // Returns how many of these frames may be sent.
  [[nodiscard]] std::uint32_t grant(std::uint32_t frames, Time now) {
    if (done_at_ <= now) busy_ = false;
    const Duration ahead = busy_ ? done_at_ - now : Duration{};
    if (ahead >= kMostAhead) {
      refused_ = true;
      return 0;
    }
    const auto room = (kMostAhead - ahead) / kLargest;
    return std::min(frames, 1 + static_cast<std::uint32_t>(room));
  }
  // Each frame takes some room in a socket beside its payload.
  void sent(std::uint64_t frames, std::uint64_t bytes, Time now) {
    done_at_ = (busy_ ? done_at_ : now) + kRate.time_to_send(frames * kOverhead + bytes);
    busy_ = true;
  }

  // Returns true once after a refusal, when it is worth asking again.
  [[nodiscard]] bool room_again(Time now) {
    if (!refused_ || now < room_at()) return false;
    refused_ = false;
    return true;
  }
  [[nodiscard]] std::optional<Time> next_room() const {
    return refused_ ? std::optional{room_at()} : std::nullopt;
  }

 private:
  static constexpr std::uint64_t kOverhead = 128;
  static constexpr Rate kRate = Rate::gigabits(12);
  static constexpr Duration kMostAhead = kRate.time_to_send(std::uint64_t{1} << 17);
  static constexpr Duration kLargest = kRate.time_to_send(4096 + kOverhead);

  [[nodiscard]] Time room_at() const { return done_at_ - kMostAhead / 2; }

  Time done_at_;  // while busy: when the sent frames would have left at kRate
  bool busy_{};
  bool refused_{};
};

}  // namespace nerve::host
