// Two flows on one link, as a fluid in steps of a microsecond: what each sends by rate and window,
// the queue, and the telemetry of a switch. Sufficient to see whether an algorithm fills and shares
// the link; not a network.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "nic/flow_control/congestion_control.h"

namespace nerve::nic::test {

class ToyLink {
 public:
  static constexpr double kStep = 1e-6;

  ToyLink(Rate line, Duration round_trip)
      : line_{static_cast<double>(line.bits_per_second()) / 8},
        base_{static_cast<double>(round_trip.count()) / 1e12} {}

  // Every flow receives an ACK once per idle round trip, for what it sent since the last one.
  void run(std::array<CongestionControl*, 2> flows, Duration time) {
    const Time end = now + time;
    while (now < end) {
      for (std::size_t i = 0; i < flows.size(); ++i) step(*flows[i], i);
      const double served = line_ * kStep;
      const double waiting = queue + arrived_;
      sent_ += std::min(waiting, served);
      queue = std::max(0.0, waiting - served);
      arrived_ = 0;
      now += std::chrono::microseconds{1};
    }
  }
  // Bytes per second at this moment.
  [[nodiscard]] double rate_of(const CongestionControl& flow) const {
    const double by_window = static_cast<double>(flow.window_bytes()) / round_trip();
    return std::min(static_cast<double>(flow.rate().bits_per_second()) / 8, by_window);
  }
  [[nodiscard]] double round_trip() const { return base_ + queue / line_; }
  [[nodiscard]] double share(const CongestionControl& flow) const { return rate_of(flow) / line_; }

  Time now{};
  double queue{};  // bytes

 private:
  void step(CongestionControl& flow, std::size_t number) {
    const double bytes = rate_of(flow) * kStep;
    arrived_ += bytes;
    unheard_[number] += bytes;
    waited_[number] += kStep;
    if (waited_[number] < base_) return;
    const wire::HopTelemetry hop{
        .transmitted_bytes = static_cast<std::uint64_t>(sent_),
        .timestamp_ps = now.picoseconds(),
        .line_rate_bps = static_cast<std::uint64_t>(line_ * 8),
        .queue_bytes = static_cast<std::uint32_t>(queue),
    };
    const auto acked = static_cast<std::uint64_t>(unheard_[number]);
    flow.on_ack({.now = now,
                 .acked_bytes = acked,
                 .outstanding_bytes = static_cast<std::uint64_t>(rate_of(flow) * round_trip()),
                 .round_trip = Duration{static_cast<std::int64_t>(round_trip() * 1e12)},
                 .telemetry = {&hop, 1}});
    unheard_[number] = waited_[number] = 0;
  }

  double line_;
  double base_;
  double sent_{};
  double arrived_{};
  std::array<double, 2> unheard_{};
  std::array<double, 2> waited_{};
};

}  // namespace nerve::nic::test
