// Parameters of the congestion-control algorithms, with the defaults of their papers.
#pragma once

#include <cstdint>

#include "base/rate.h"
#include "base/time.h"

namespace nerve::nic {

// Longer round trips are treated as this one: the product of hours and a million would not fit.
inline constexpr Duration kLongestRoundTrip = std::chrono::seconds{1};

// DCQCN (Zhu et al., SIGCOMM 2015), at the port's line rate.
struct DcqcnParameters {
  std::uint32_t g_inverse{256};  // g = 1/256
  Duration alpha_timer{std::chrono::microseconds{55}};
  Duration increase_timer{std::chrono::microseconds{55}};
  Duration decrease_interval{std::chrono::microseconds{4}};  // at most one cut per interval
  std::uint64_t byte_counter{10'000'000};                    // zero: stages end by time only
  std::uint32_t fast_recovery_stages{5};
  Rate additive_increase{Rate::megabits(40)};
  Rate hyper_increase{Rate::megabits(400)};
  Rate minimum_rate{Rate::megabits(100)};
  // Each cut sets the target to the rate before it. Adapters can be configured to keep the target
  // until the rate has recovered, so that several cuts in a row are undone as one.
  bool clamp_target{true};
  // Alpha grows with each CNP that cuts. Adapters check once per alpha_timer whether a CNP arrived.
  bool alpha_by_timer{};
  // A CNP cuts immediately. Adapters check once per decrease_interval, counted from the first CNP,
  // whether one arrived.
  bool cut_by_timer{};
};

// TIMELY (Mittal et al., SIGCOMM 2015). Fractions are in thousandths.
struct TimelyParameters {
  std::uint32_t newest_weight{875};  // of the newest difference in the smoothed one
  std::uint32_t beta{800};
  Duration low{std::chrono::microseconds{50}};
  Duration high{std::chrono::microseconds{500}};
  Duration minimum_round_trip{std::chrono::microseconds{20}};
  Rate step{Rate::megabits(10)};
  std::uint32_t hyper_after{5};  // after this many good samples in a row ...
  std::uint32_t hyper_steps{5};  // ... this many steps are taken at once
  // Samples below `low` count as good too.
  bool low_is_good{};
  // Steeper gradients are limited to this value, in thousandths: a single sample may be an outlier.
  std::uint32_t steepest{1000};
  // Round trips measured concurrently. With one, the rate changes once per round trip.
  std::uint32_t samples{8};
  Rate minimum_rate{Rate::megabits(100)};
};

// Swift (Kumar et al., SIGCOMM 2020). Fractions are in thousandths, windows in thousandths of a
// packet.
struct SwiftParameters {
  Duration base_target{std::chrono::microseconds{20}};
  std::uint32_t increase{1000};  // packets per round trip
  std::uint32_t beta{800};
  std::uint32_t most_cut{500};
  Duration scaling_range{
      std::chrono::microseconds{100}};  // added to the target at the smallest window
  std::uint32_t smallest_scaled{100};   // the range of windows in which the target is scaled
  std::uint32_t largest_scaled{100'000};
  std::uint32_t smallest{100};  // the limits of the window
  std::uint32_t largest{1'000'000};
};

// HPCC (Li et al., SIGCOMM 2019).
struct HpccParameters {
  std::uint32_t eta{950};  // target utilisation of the links, in thousandths
  std::uint32_t most_stages{5};
  Duration base_round_trip{std::chrono::microseconds{13}};
  std::uint32_t flows{100};  // number of flows assumed for the additive step: W_AI = W_init (1 -
                             // eta) / flows
  Rate minimum_rate{Rate::megabits(1)};
};

// Learned congestion control (learned.h).
struct Policy;
struct LearnedParameters {
  const Policy* policy{};      // null: the shipped one. Must outlive the engine.
  Duration base_round_trip{};  // at most the least round trip counts as this; zero: unknown
  Rate minimum_rate{Rate::megabits(10)};
  std::uint32_t stuck_after{32};  // rounds
  std::uint32_t calm_rounds{8};
};

// NSCC of the Ultra Ethernet specification 1.0, with the defaults of its simulation model
// (docs/fidelity.md). Steps are in thousandths of a packet, for a network of 100 Gb/s and 12 us;
// they are scaled to that of the QP. Other fractions are in thousandths.
struct NsccParameters {
  Duration base_round_trip{std::chrono::microseconds{12}};  // of the empty network
  Duration target{std::chrono::microseconds{9}};            // queueing delay
  std::uint32_t increase{4000};                             // a round trip without queues and marks
  std::uint32_t fair_increase{5000};   // a round trip with queues, without marks
  std::uint32_t steady_increase{150};  // a round trip, always
  std::uint32_t fast_increase{250};    // of the acknowledged bytes, after a window without queues
  Duration fast_below{std::chrono::microseconds{1}};  // the queueing delay that counts as none
  std::uint32_t gamma{800};                  // of the excess delay, in a multiplicative decrease
  std::uint32_t most_cut{500};               // per round trip
  std::uint32_t newest_weight_per_10k{125};  // of the newest delay in the mean
  std::uint32_t largest{1500};      // window, in bandwidth-delay products; also the first window
  std::uint32_t quick_gate{8};      // quick adapt if less than 1/8 of that arrived in a round trip
  std::uint32_t quick_delay{4000};  // ... and the delay exceeds four targets, or packets were lost
};

}  // namespace nerve::nic
