// Swift: a window controlled by the difference between the delay and a target (Kumar et al.,
// SIGCOMM 2020, algorithm 1).
//
//  below the target   the window grows by `increase` packets a round trip
//  above it           once a round trip:
//                     window *= max(1 - beta (delay - target) / delay, 1 - most_cut)
//
// The target grows as the window shrinks (section 3.1, flow scaling): with n flows on a link, the
// queue is about the square root of n packets. A window below one packet becomes a pacing interval:
// one packet, then a pause.
#pragma once

#include "nic/flow_control/congestion_control.h"

namespace nerve::nic {

class Swift final : public CongestionControl {
 public:
  Swift(const SwiftParameters& parameters, Rate line_rate, std::uint32_t packet_bytes);

  void on_send(std::uint64_t, Time) override {}
  void on_ack(const AckSample& sample) override;
  void on_cnp(Time) override {}
  void on_nak(Time now) override { cut(parameters_.most_cut, now); }
  void on_timeout(Time now) override { cut(parameters_.most_cut, now); }

  [[nodiscard]] Rate rate() const override;
  [[nodiscard]] std::uint64_t window_bytes() const override;

  // Continues a flow that another algorithm has controlled so far.
  void continue_at(Rate rate, Duration round_trip);

  // For tests: the target at the current window.
  [[nodiscard]] Duration target() const;

  [[nodiscard]] RoundTrips* round_trips() override { return &round_trips_; }

 private:
  void grow(std::uint64_t acked_bytes);
  // Cuts by this many thousandths, unless the window was cut within the last round trip.
  void cut(std::uint64_t thousandths, Time now);

  SwiftParameters parameters_;
  Rate line_;
  std::uint32_t packet_bytes_;
  std::uint64_t window_{};  // millionths of a packet
  Duration round_trip_;     // the last one measured
  Time last_cut_{};
  bool cut_before_{};
  RoundTrips round_trips_;
};

}  // namespace nerve::nic
