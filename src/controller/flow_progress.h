// Whether a flow sends, and whether it has stopped getting through: it retransmits, and sends much
// less than before.
#pragma once

#include <cstdint>

#include "base/optional_time.h"
#include "base/time.h"

namespace nerve::controller {

class FlowProgress {
 public:
  // A report that shows nothing sent for so long ends it. While nothing changes, agents report once
  // a second.
  static constexpr Duration kIdle = std::chrono::milliseconds{900};
  // Two reports in a row, or a longer one: congestion has such moments too.
  static constexpr Duration kStall = std::chrono::milliseconds{40};
  // Reports that follow each other faster are taken together.
  static constexpr Duration kShortest = std::chrono::milliseconds{20};
  // A stall may show in the report after the one with the retransmission.
  static constexpr Duration kResentFor = std::chrono::milliseconds{1500};
  static constexpr Duration kShortReport = std::chrono::milliseconds{150};
  // After so long, what it sends now is what it sends: its peer may have ended.
  static constexpr Duration kGiveUp = std::chrono::seconds{10};

  // The counters of the flow, as they are now.
  void report(std::uint64_t bytes, std::uint64_t retransmitted, Time now);

  // As of the last report.
  [[nodiscard]] bool sends() const { return slow_since_ || (sent_ && reported_ - *sent_ < kIdle); }
  [[nodiscard]] bool stalled(Time now) const { return slow_since_ && now - *slow_since_ >= kStall; }
  // In the last report, if that was about a short time: as much as before, without retransmissions.
  // In a long time it may have advanced until its path was lost.
  [[nodiscard]] bool advances() const { return advances_; }

 private:
  bool begun_{};
  bool advances_{};
  std::uint64_t bytes_{};
  std::uint64_t retransmitted_{};
  double usual_{};  // bytes per second
  Time reported_;
  OptionalTime sent_;
  OptionalTime resent_;
  OptionalTime slow_since_;
};

}  // namespace nerve::controller
