// NSCC, the network-signalled congestion control of the Ultra Ethernet specification 1.0: a window
// controlled by two signals, congestion marks and the queueing delay (round trip minus that of the
// empty network).
//
//                   delay below the target          delay above the target
//   not marked      proportional increase           fair increase
//   marked          nothing (another path is        multiplicative decrease by the mean delay,
//                   chosen)                         once a round trip
//
// After a whole window without queues it grows fast. Quick adapt: when packets were trimmed or
// lost, or the delay is far above the target, and little arrived in a round trip, the window
// becomes what arrived, and marks are ignored until the packets in flight have been answered.
#pragma once

#include "nic/flow_control/congestion_control.h"

namespace nerve::nic {

class Nscc final : public CongestionControl {
 public:
  Nscc(const NsccParameters& parameters, Rate line_rate, std::uint32_t packet_bytes);

  void on_send(std::uint64_t, Time) override {}
  void on_ack(const AckSample& sample) override;
  void on_cnp(Time) override {}
  void on_nak(Time now) override { on_trim(packet_, now); }
  void on_timeout(Time now) override { on_trim(packet_, now); }
  void on_trim(std::uint64_t bytes, Time now) override;

  [[nodiscard]] Rate rate() const override { return line_; }
  [[nodiscard]] std::uint64_t window_bytes() const override { return window_; }

  // For tests.
  [[nodiscard]] Duration mean_delay() const { return mean_delay_; }
  [[nodiscard]] Duration base_round_trip() const { return base_; }

  [[nodiscard]] RoundTrips* round_trips() override { return &round_trips_; }

 private:
  __extension__ using Wide = unsigned __int128;

  // So many thousandths of a packet, scaled to the size of the network.
  [[nodiscard]] std::uint64_t step(std::uint32_t thousandths) const;
  [[nodiscard]] std::uint64_t largest() const;
  void note_delay(Duration delay, bool marked);
  // True if the sample must not change the window any further.
  bool quick_adapt(bool lost, bool marked, Duration delay, Time now);
  void increase(std::uint64_t acked_bytes, Duration delay);
  void decrease(Time now);
  void apply_increase(Time now);
  void hold_in_bounds();

  NsccParameters parameters_;
  Rate line_;
  std::uint64_t packet_;
  Duration base_;  // the shortest round trip so far
  std::uint64_t window_;
  Wide owed_{};  // increase not applied yet, in bytes times bytes
  Duration mean_delay_{};
  std::uint64_t received_{};       // since the increase was applied
  std::uint64_t without_queue_{};  // bytes received since there was a queue
  bool fast_{};
  std::uint64_t in_flight_{};
  std::uint64_t achieved_{};   // received in this period of quick adapt
  std::uint64_t ignored_{};    // answered since quick adapt ...
  std::uint64_t to_ignore_{};  // ... of those in flight then
  bool lost_{};                // packets were lost or trimmed since the last quick adapt
  std::optional<Time> period_end_{};
  std::optional<Time> last_cut_{};
  std::optional<Time> last_applied_{};
  RoundTrips round_trips_;
};

}  // namespace nerve::nic
