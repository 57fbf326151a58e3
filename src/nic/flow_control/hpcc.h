// HPCC: a window computed from the telemetry that switches on the path write into the packets (Li
// et al., SIGCOMM 2019, algorithm 1).
//
//  use of a link   least queue of two reports / (rate * T) + sent between them / (rate * time)
//  use of the path U, the maximum over its links, smoothed over T
//  each ACK        W = W_c / (U / eta) + W_AI when U is above eta, or after most_stages additive
//                  steps; W_c + W_AI otherwise
//  once a round trip   W_c = W
//
// U is in millionths, windows in bytes: the same on every machine.
#pragma once

#include <array>

#include "nic/flow_control/congestion_control.h"

namespace nerve::nic {

class Hpcc final : public CongestionControl {
 public:
  static constexpr std::size_t kMaxHops = 8;

  Hpcc(const HpccParameters& parameters, Rate line_rate);

  void on_send(std::uint64_t, Time) override {}
  void on_ack(const AckSample& sample) override;
  void on_cnp(Time) override {}
  void on_nak(Time) override {}
  void on_timeout(Time) override {}

  [[nodiscard]] Rate rate() const override;
  [[nodiscard]] std::uint64_t window_bytes() const override { return window_; }

 private:
  using Hops = std::span<const wire::HopTelemetry>;

  // The utilisation of the busiest link, in millionths, and the time between its two reports.
  struct Use {
    std::uint64_t millionths{};
    std::uint64_t picoseconds{};
  };
  [[nodiscard]] Use busiest(Hops hops) const;
  void measure(Hops hops);
  void compute(bool whole_round);

  HpccParameters parameters_;
  Rate line_;
  std::uint64_t first_window_;
  std::uint64_t least_window_;
  std::uint64_t step_;  // W_AI
  std::uint64_t window_;
  std::uint64_t reference_;  // W_c
  // U, in millionths. An unknown path counts as fully used.
  std::uint64_t use_{1'000'000};
  std::uint64_t acked_{};       // bytes in total
  std::uint64_t round_ends_{};  // at this many acknowledged bytes
  std::uint32_t stages_{};
  std::array<wire::HopTelemetry, kMaxHops> last_{};
  std::size_t last_count_{};
};

}  // namespace nerve::nic
