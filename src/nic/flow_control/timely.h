// TIMELY: a rate controlled by the gradient of round trips (Mittal et al., SIGCOMM 2015, algorithm
// 1).
//
//  below low     rate += step
//  above high    rate *= 1 - beta (1 - high / round trip)
//  growing       rate *= 1 - beta gradient         the gradient is the smoothed difference of two
//  else          rate += step, or hyper_steps of them   round trips, over the least round trip
//
// All arithmetic is in integers, so that a run is the same on every machine.
#pragma once

#include "nic/flow_control/congestion_control.h"

namespace nerve::nic {

class Timely final : public CongestionControl {
 public:
  Timely(const TimelyParameters& parameters, Rate line_rate);

  void on_send(std::uint64_t, Time) override {}
  void on_ack(const AckSample& sample) override;
  void on_cnp(Time) override {}
  // The paper leaves losses to the transport.
  void on_nak(Time) override {}
  void on_timeout(Time) override {}

  [[nodiscard]] Rate rate() const override { return Rate::bits_per_second(rate_); }
  [[nodiscard]] std::uint64_t window_bytes() const override;

  [[nodiscard]] RoundTrips* round_trips() override { return &round_trips_; }

 private:
  void grow(std::uint64_t steps);
  void grow_well();
  // Cuts by this many millionths.
  void cut(std::int64_t millionths);

  TimelyParameters parameters_;
  std::uint64_t line_;  // rates in bits per second
  std::uint64_t rate_;
  Duration last_{};
  std::int64_t difference_{};  // smoothed, in picoseconds
  std::uint32_t good_{};       // consecutive samples with a gradient of zero or below
  RoundTrips round_trips_;
};

}  // namespace nerve::nic
