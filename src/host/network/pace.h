// How fast unreliable packets leave by UDP.
//
// UC and UD have no flow control: no acknowledgement, and no cable that is slower than we are.
// The socket at the other end holds a few hundred kilobytes on most machines, and what is too much
// for it is lost, without a word, as soon as its reader is away for a moment. So these packets are
// spaced at a rate that a reader keeps up with who has other things to do as well.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::host {

class Pace {
 public:
  // How many of these frames may leave.
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
  // Each frame takes some room in a socket besides its payload.
  void sent(std::uint64_t frames, std::uint64_t bytes, Time now) {
    done_at_ = (busy_ ? done_at_ : now) + kRate.time_to_send(frames * kOverhead + bytes);
    busy_ = true;
  }

  // True once after a refusal, when it is worth asking again.
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

  Time done_at_;  // when what was sent would have left at that rate, while busy
  bool busy_{};
  bool refused_{};
};

}  // namespace nerve::host
