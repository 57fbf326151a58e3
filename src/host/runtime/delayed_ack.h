// Decides whether an acknowledgement should wait for the program's next post.
//
// Two programs that write to each other in turn spin on memory until the peer's WRITE arrives, then
// post their own, then poll until it is acknowledged. If the acknowledgement and the peer's next
// WRITE leave together, the poll receives both, and no other thread is needed. If the background
// thread acknowledges at once, the poll ends before the WRITE comes, and the background thread has
// to get a CPU to receive it.
//
// This resembles what Linux's TCP calls ping-pong mode: if the program has posted soon after the
// background thread received frames, several times in a row, the acknowledgement waits for the next
// post; only briefly, and not again after it waited in vain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace nerve::host {

class DelayedAck {
 public:
  static constexpr Duration kLongest = std::chrono::microseconds{25};

  // The background thread received frames and owes nothing but an acknowledgement for them.
  void took_in(Time now) {
    replies_ = awaits_post_ ? 0 : replies_;
    awaits_post_ = true;
    taken_in_ = now;
    if (replies_ >= kEnough) until_ = now + kLongest;
  }
  // True if posted() should be called at the next post.
  [[nodiscard]] bool awaits_post() const { return awaits_post_; }
  void posted(Time now) {
    awaits_post_ = false;
    replies_ = now - taken_in_ <= kLongest ? std::min(replies_ + 1, kEnough) : 0;
  }
  // Until when the acknowledgement waits, if it does.
  [[nodiscard]] std::optional<Time> until() const { return until_; }
  void sent() { until_.reset(); }

 private:
  static constexpr std::uint32_t kEnough = 4;

  std::uint32_t replies_{};  // within kLongest, in a row
  bool awaits_post_{};
  Time taken_in_{};
  std::optional<Time> until_;
};

}  // namespace nerve::host
