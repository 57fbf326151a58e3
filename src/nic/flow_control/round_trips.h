// Send times of packets with an ACK request, so that their ACKs measure round trips.
//
// A few at a time are enough: with more in flight, the newest are not measured. After a
// retransmission an ACK may answer either copy, so all are discarded (Karn).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "base/time.h"

namespace nerve::nic {

class RoundTrips {
 public:
  void on_send(Psn psn, Time now) {
    if (end_ - begin_ >= limit_) return;
    entries_[end_++ % kMost] = {psn, now};
  }
  // All packets before `unacked` are acknowledged: returns the round trip of the newest one
  // measured.
  std::optional<Duration> on_ack(Psn unacked, Time now) {
    std::optional<Duration> trip;
    while (begin_ != end_ && entries_[begin_ % kMost].psn.distance_from(unacked) < 0) {
      trip = now - entries_[begin_++ % kMost].sent;
    }
    return trip;
  }
  void forget() { begin_ = end_; }
  // Limits the number measured at a time.
  void limit(std::uint32_t most) { limit_ = std::clamp(most, 1U, kMost); }

 private:
  static constexpr std::uint32_t kMost = 8;
  struct Entry {
    Psn psn{};
    Time sent{};
  };
  std::array<Entry, kMost> entries_{};
  std::uint32_t begin_{};  // both indices run freely
  std::uint32_t end_{};
  std::uint32_t limit_{kMost};
};

}  // namespace nerve::nic
