// Whether an acknowledgement should wait for what the program posts next.
//
// Two programs that write to each other in turn read their memory to wait for the other's WRITE,
// then post their own, then poll until it is acknowledged. If the acknowledgement and the other's
// next WRITE leave together, the poll takes both in, and no other thread is needed. If the
// background thread acknowledges at once, the poll is over before the WRITE comes, and that needs
// the background thread again, which has to get a CPU first.
//
// As TCP does in what Linux calls ping-pong mode: where the program has posted soon after what the
// background thread took in, several times in a row, the acknowledgement waits for it; not for
// long, and no more when that was in vain.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.h"

namespace nerve::host {

class DelayedAck {
 public:
  static constexpr Duration kLongest = std::chrono::microseconds{25};

  // The background thread has taken frames in, and owes an acknowledgement alone for them.
  void took_in(Time now) {
    replies_ = awaits_post_ ? 0 : replies_;
    awaits_post_ = true;
    taken_in_ = now;
    if (replies_ >= kEnough) until_ = now + kLongest;
  }
  // Whether the program's next post should be noted.
  [[nodiscard]] bool awaits_post() const { return awaits_post_; }
  void posted(Time now) {
    awaits_post_ = false;
    replies_ = now - taken_in_ <= kLongest ? std::min(replies_ + 1, kEnough) : 0;
  }
  // Until when it waits, if it does.
  [[nodiscard]] std::optional<Time> until() const { return until_; }
  void sent() { until_.reset(); }

 private:
  static constexpr std::uint32_t kEnough = 4;

  std::uint32_t replies_{};  // soon, and in a row
  bool awaits_post_{};
  Time taken_in_{};
  std::optional<Time> until_;
};

}  // namespace nerve::host
