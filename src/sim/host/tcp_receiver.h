// The receiving half of a TCP connection: received ranges, and what to acknowledge when.
//
// Every second segment and every out-of-order segment is acknowledged at once; a single segment
// waits for the delayed ACK timer (RFC 5681, 4.2). ACKs carry the number of bytes received with a
// congestion mark. This is equivalent to the ECN echo of RFC 8257, which signals one change at a
// time.
#pragma once

#include <cstdint>

#include "sim/host/tcp_ranges.h"

namespace nerve::sim {

class TcpReceiver {
 public:
  explicit TcpReceiver(std::uint64_t buffer) : buffer_{buffer} {}

  void take(const TcpSegment& segment, bool marked) {
    if (marked) marked_ += segment.length;
    ++unanswered_;
    if (echo_ == 0) echo_ = segment.stamp;
    const std::uint64_t end = segment.first + segment.length;
    if (segment.first > next_) {
      latest_ = early_.add({segment.first, end});
      at_once_ = true;
      return;
    }
    if (end <= next_ || !early_.empty()) at_once_ = true;  // a duplicate, or it fills a gap
    if (end > next_) next_ = end;
    while (!early_.empty() && early_.front().begin <= next_) {
      if (early_.front().end > next_) next_ = early_.front().end;
      early_.drop_below(next_);
    }
  }

  // All bytes before it have arrived.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  [[nodiscard]] bool owes() const { return unanswered_ > 0; }
  [[nodiscard]] bool owes_at_once() const { return at_once_ || unanswered_ >= 2; }

  // Every outgoing segment carries the acknowledgement.
  void answer(TcpSegment& segment) {
    segment.acknowledged = next_;
    segment.allowed = next_ + buffer_;
    segment.marked = marked_;
    segment.echo = echo_;
    segment.range_count = 0;
    const auto say = [&](const TcpRange& range) {
      if (segment.range_count == TcpSegment::kMostRanges) return;
      segment.ranges[segment.range_count++] = range;
    };
    if (latest_.end > next_) say(latest_);
    for (const TcpRange& range : early_.all()) {
      if (range.begin != latest_.begin) say(range);
    }
    unanswered_ = 0;
    echo_ = 0;
    at_once_ = false;
  }

 private:
  std::uint64_t buffer_;
  std::uint64_t next_{};
  std::uint64_t marked_{};
  std::uint64_t echo_{};  // stamp of the first unacknowledged segment
  std::uint32_t unanswered_{};
  bool at_once_{};
  TcpRanges early_;
  TcpRange latest_{};
};

}  // namespace nerve::sim
