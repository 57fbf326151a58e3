// TCP's congestion window, in bytes: DCTCP (RFC 8257) or CUBIC (RFC 9438), slow start before
// either (RFC 5681). In integers, so that a run is the same on every machine.
//
//   DCTCP   once a window: alpha += (marked share - alpha) / 16; a window with marks is cut by
//           alpha / 2, otherwise grows by a segment
//   CUBIC   after a loss to 7/10; then W(t) = 0.4 (t - K)^3 + W_max segments, t in seconds, and
//           never less than Reno's window would be
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/scenario/host_spec.h"

namespace nerve::sim {

// The largest number whose cube is not more.
__extension__ using Wide = unsigned __int128;
[[nodiscard]] std::uint64_t cube_root(Wide cube);

class TcpWindow {
 public:
  TcpWindow(TcpAlgorithm algorithm, std::uint32_t segment, std::uint32_t first_segments);

  struct Ack {
    Time now{};
    std::uint64_t acked{};    // bytes, newly
    std::uint64_t marked{};   // of those that came, newly
    std::uint64_t unacked{};  // where the unacknowledged begin
    std::uint64_t sent{};     // where they end
    Duration round_trip{};
    bool limited{};  // the window was all that held back more: otherwise it does not grow
  };
  void on_ack(const Ack& ack);
  void on_loss(Time now);
  void on_timeout(std::uint64_t in_flight);

  [[nodiscard]] std::uint64_t bytes() const { return window_; }
  [[nodiscard]] bool slow_start() const { return window_ < threshold_; }
  // DCTCP's estimate of how many are marked, in units of 2^-20.
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
  std::uint64_t counted_{};  // acknowledged since the window grew

  // DCTCP
  std::uint64_t alpha_{kOne};
  std::uint64_t acked_{};
  std::uint64_t marked_{};
  std::uint64_t round_end_{};
  std::uint64_t cut_until_{};  // one cut a window

  // CUBIC
  bool epoch_begun_{};
  Time epoch_{};
  std::uint64_t most_{};  // W_max: before the last cut
  std::uint64_t origin_{};
  std::int64_t to_origin_us_{};  // K
  std::uint64_t reno_{};         // W_est
};

}  // namespace nerve::sim
