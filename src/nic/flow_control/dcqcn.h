// DCQCN's reaction point: the rate of one sending QP, cut by CNPs and recovered over time and bytes
// (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments", SIGCOMM 2015, section 3).
//
//  a CNP      target = rate; rate -= rate * alpha / 2; alpha += (1 - alpha) * g; stages restart
//  no CNP     for alpha_timer: alpha -= alpha * g
//  a stage    ends each increase_timer, and each byte_counter bytes sent:
//             fast recovery  while neither has ended fast_recovery_stages: the target stays
//             additive       the target grows by additive_increase
//             hyper          both have ended more than that many: by hyper_increase
//             and then       rate = (rate + target) / 2
//
// All arithmetic is in integers, so that a run is the same on every machine. No timer runs: the
// stages that time has ended are counted when the rate is needed.
#pragma once

#include "base/optional_time.h"
#include "nic/flow_control/congestion_control.h"

namespace nerve::nic {

class alignas(64) Dcqcn final : public CongestionControl {
 public:
  Dcqcn(const DcqcnParameters& parameters, Rate line_rate);

  void on_send(std::uint64_t bytes, Time now) override;
  void on_cnp(Time now) override;
  // The paper leaves acknowledgements and losses to the transport.
  void on_ack(const AckSample&) override {}
  void on_nak(Time) override {}
  void on_timeout(Time) override {}

  void catch_up(Time now) override;

  [[nodiscard]] Rate rate() const override { return Rate::bits_per_second(rate_); }
  [[nodiscard]] std::uint64_t window_bytes() const override;

  // For tests and telemetry. Alpha is in units of 2^-32, as of the last CNP or cut.
  static constexpr std::uint64_t kOne = std::uint64_t{1} << 32;
  [[nodiscard]] Rate target() const { return Rate::bits_per_second(target_); }
  [[nodiscard]] std::uint64_t alpha() const { return alpha_; }

 private:
  [[nodiscard]] bool limited() const { return rate_ < line_; }
  void decay_alpha(std::int64_t steps);
  void grow_alpha();
  void note_in_period(Time now);
  void count_periods(Time now);
  void cut_at_next_tick(Time now);
  void cut(Time now);
  [[nodiscard]] bool was_months_ago(Time now) const;
  void end_stages(Time now);
  void increase();

  // In order of how often they are used: at line rate, the first cache line is enough.
  std::uint64_t line_;  // rates in bits per second
  std::uint64_t rate_;
  Time stage_ends_{};
  OptionalTime cut_due_{};
  std::uint64_t bytes_{};  // since the last stage of the byte counter
  DcqcnParameters parameters_;
  std::uint64_t target_;
  std::uint32_t time_stages_{};
  std::uint32_t byte_stages_{};
  std::uint64_t alpha_{kOne};
  Time last_cut_{};
  Time period_begins_{};  // start of alpha's current period
  Time last_tick_{};      // of the timer that triggers cuts
  bool cnp_in_period_{};
  bool cut_before_{};
};

}  // namespace nerve::nic
