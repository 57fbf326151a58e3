// Learned congestion control: a policy (policy.h) changes the rate once per round trip.
//
//  a round      ends when all packets in flight at its start are acknowledged
//  its end      a = decide(inputs); rate *= 1 + 0.2 a if a is positive, else rate /= 1 - 0.2 a
//  the window   the rate times the least round trip, times a factor of the policy, plus a packet
//  a loss       halves the rate, at most once per round
//
// The guard: Swift takes over when an input is out of the range that the policy was trained for, or
// when the policy still slows down after `stuck_after` rounds at the lowest rate. After
// `calm_rounds` rounds without either, the policy continues from the rate that Swift has reached.
// Rates stay between the minimum and the line rate.
#pragma once

#include <memory>

#include "nic/flow_control/congestion_control.h"
#include "nic/flow_control/policy.h"
#include "nic/flow_control/swift.h"

namespace nerve::nic {

class Learned final : public CongestionControl {
 public:
  // Counts in `fallbacks` how often the guard took over.
  Learned(const LearnedParameters& parameters, const SwiftParameters& swift, Rate line_rate,
          std::uint32_t packet_bytes, std::uint64_t& fallbacks);

  void on_send(std::uint64_t, Time) override {}
  void on_ack(const AckSample& sample) override;
  // A peer that does not echo marks in ACKs sends CNPs.
  void on_cnp(Time) override { ++marked_; }
  void on_nak(Time now) override { on_loss(now); }
  void on_timeout(Time now) override { on_loss(now); }

  [[nodiscard]] Rate rate() const override;
  [[nodiscard]] std::uint64_t window_bytes() const override;

  // For tests.
  [[nodiscard]] bool guarded() const { return swift_ != nullptr; }
  [[nodiscard]] Duration least_round_trip() const;

  [[nodiscard]] RoundTrips* round_trips() override { return &round_trips_; }

 private:
  void measure(Duration round_trip, Time now);
  void end_round(const AckSample& sample);
  [[nodiscard]] Policy::Inputs inputs_for(Duration round_trip) const;
  void act(std::int32_t action);
  void hand_over(Duration round_trip);
  void on_loss(Time now);

  LearnedParameters parameters_;
  SwiftParameters swift_parameters_;
  const Policy& policy_;
  std::uint64_t& fallbacks_;
  std::uint64_t line_;  // rates in bits per second
  std::uint64_t minimum_;
  std::uint64_t rate_;
  std::uint32_t packet_bytes_;
  // The least round trip of this period and of the one before it: a path may become longer.
  Duration least_;
  Duration least_before_;
  Time period_begins_{};
  // This round.
  Duration sum_{};
  std::uint32_t samples_{};
  std::uint32_t acks_{};
  std::uint32_t marked_{};
  std::uint64_t acked_{};
  std::uint64_t round_ends_{};  // at this many acknowledged bytes
  Duration trip_before_{};      // of the round before
  std::int32_t action_{};
  std::int32_t action_before_{};
  std::uint32_t stuck_{};  // rounds in a row
  std::uint32_t calm_{};
  Time last_loss_{};
  bool lost_before_{};
  std::unique_ptr<Swift> swift_;  // while the guard is active
  RoundTrips round_trips_;
};

}  // namespace nerve::nic
