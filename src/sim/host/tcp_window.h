// TCP's congestion window, in bytes: DCTCP (RFC 8257) or CUBIC (RFC 9438), with slow start (RFC
// 5681). Integer arithmetic, so that a run is the same on every machine.
//
// DCTCP: once per window, alpha += (marked share - alpha) / 16. A window with marks is cut by alpha
// / 2, one without grows by a segment.
//
// CUBIC: a loss cuts the window to 7/10. Then W(t) = 0.4 (t - K)^3 + W_max segments, t in seconds,
// but at least Reno's window.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

// The integer cube root, rounded down.
__extension__ using Wide = unsigned __int128;
[[nodiscard]] std::uint64_t cube_root(Wide cube);

class TcpWindow {
 public:
  TcpWindow(TcpAlgorithm algorithm, std::uint32_t segment, std::uint32_t first_segments);

  struct Ack {
    Time now{};
    std::uint64_t acked{};    // newly acknowledged bytes
    std::uint64_t marked{};   // of those received, newly marked bytes
    std::uint64_t unacked{};  // first unacknowledged byte
    std::uint64_t sent{};     // end of the sent bytes
    Duration round_trip{};
    bool limited{};  // the window was the limit; otherwise it does not grow
  };
  void on_ack(const Ack& ack);
  void on_loss(Time now);
  void on_timeout(std::uint64_t in_flight);

  [[nodiscard]] std::uint64_t bytes() const { return window_; }
  [[nodiscard]] bool slow_start() const { return window_ < threshold_; }
  // DCTCP's estimate of the marked share, in units of 2^-20.
  static constexpr std::uint64_t kOne = 1U << 20U;
  [[nodiscard]] std::uint64_t alpha() const { return alpha_; }

 private:
  void watch_marks(const Ack& ack);
  void grow(const Ack& ack);
  void grow_cubic(const Ack& ack);
  [[nodiscard]] std::uint64_t cubic_at(Duration since) const;
  void shrink_to(std::uint64_t bytes);

  TcpAlgorithm algorithm_;
  std::uint64_t segment_;
  std::uint64_t window_;
  std::uint64_t threshold_{UINT64_MAX};
  std::uint64_t counted_{};  // bytes acknowledged since the window last grew

  // DCTCP
  std::uint64_t alpha_{kOne};
  std::uint64_t acked_{};
  std::uint64_t marked_{};
  std::uint64_t round_end_{};
  std::uint64_t cut_until_{};  // at most one cut per window

  // CUBIC
  bool epoch_begun_{};
  Time epoch_{};
  std::uint64_t most_{};  // W_max: the window before the last cut
  std::uint64_t origin_{};
  std::int64_t to_origin_us_{};  // K
  std::uint64_t reno_{};         // W_est
};

}  // namespace nerve::sim
