#include "sim/host/tcp_window.h"

#include <algorithm>

namespace nerve::sim {
namespace {

constexpr std::uint64_t kGainInverse = 16;  // RFC 8257, 4.2
constexpr std::uint64_t kLeastSegments = 2;
constexpr std::int64_t kPicosPerMicro = 1'000'000;

}  // namespace

std::uint64_t cube_root(Wide cube) {
  std::uint64_t root = 0;
  for (std::uint64_t bit = std::uint64_t{1} << 41U; bit != 0; bit >>= 1U) {
    const Wide more = root | bit;
    if (more * more * more <= cube) root |= bit;
  }
  return root;
}

TcpWindow::TcpWindow(TcpAlgorithm algorithm, std::uint32_t segment, std::uint32_t first_segments)
    : algorithm_{algorithm},
      segment_{segment},
      window_{std::uint64_t{segment} * std::max<std::uint32_t>(first_segments, 1)} {}

void TcpWindow::on_ack(const Ack& ack) {
  const std::uint64_t before = cut_until_;
  if (algorithm_ == TcpAlgorithm::kDctcp) watch_marks(ack);
  if (cut_until_ == before && ack.limited) grow(ack);
}

void TcpWindow::watch_marks(const Ack& ack) {
  acked_ += ack.acked;
  marked_ += ack.marked;
  if (ack.unacked >= round_end_ && acked_ > 0) {
    const std::uint64_t share = std::min(marked_, acked_) * kOne / acked_;
    alpha_ = alpha_ - alpha_ / kGainInverse + share / kGainInverse;
    acked_ = marked_ = 0;
    round_end_ = ack.sent;
  }
  if (ack.marked == 0 || ack.unacked < cut_until_) return;
  shrink_to(window_ - window_ * alpha_ / (2 * kOne));
  cut_until_ = ack.sent;
}

void TcpWindow::shrink_to(std::uint64_t bytes) {
  window_ = std::max(bytes, kLeastSegments * segment_);
  threshold_ = window_;
  counted_ = 0;
  epoch_begun_ = false;
}

void TcpWindow::grow(const Ack& ack) {
  if (slow_start()) {
    window_ += ack.acked;
    return;
  }
  if (algorithm_ == TcpAlgorithm::kCubic) return grow_cubic(ack);
  counted_ += ack.acked;
  if (counted_ < window_) return;
  counted_ -= window_;
  window_ += segment_;
}

std::uint64_t TcpWindow::cubic_at(Duration since) const {
  const std::int64_t from_origin = since.count() / kPicosPerMicro - to_origin_us_;
  const auto distance = static_cast<std::uint64_t>(from_origin < 0 ? -from_origin : from_origin);
  // 0.4 segments per cubic second, which is 10^18 cubic microseconds.
  const Wide cube = Wide{distance} * distance * distance;
  const auto by =
      static_cast<std::uint64_t>(cube * segment_ * 4 / (Wide{10} * 1'000'000'000'000'000'000U));
  if (from_origin < 0) return by < origin_ ? origin_ - by : 0;
  return origin_ + by;
}

// RFC 9438, sections 4.2 to 4.4.
void TcpWindow::grow_cubic(const Ack& ack) {
  if (!epoch_begun_) {
    epoch_begun_ = true;
    epoch_ = ack.now;
    reno_ = window_;
    origin_ = std::max(most_, window_);
    const Wide segments_cubed = Wide{origin_ - window_} * 10 * 1'000'000'000'000'000'000U;
    to_origin_us_ = static_cast<std::int64_t>(cube_root(segments_cubed / (4 * segment_)));
  }
  // Reno with a cut to 7/10 grows by 3 * 0.3 / 1.7 of a segment per round trip.
  const std::uint64_t per_mille = reno_ < most_ ? 529 : 1000;
  reno_ += ack.acked * segment_ * per_mille / (window_ * 1000);
  const std::uint64_t target =
      std::clamp(cubic_at(ack.now - epoch_ + ack.round_trip), window_, window_ + window_ / 2);
  // Accumulates small steps without rounding loss.
  counted_ += ack.acked;
  if (const std::uint64_t step = (target - window_) * counted_ / window_; step > 0) {
    window_ += step;
    counted_ = 0;
  }
  window_ = std::max(window_, reno_);
}

void TcpWindow::on_loss(Time) {
  if (algorithm_ == TcpAlgorithm::kDctcp) return shrink_to(window_ / 2);
  // Fast convergence: a flow that loses before it has grown back leaves room for others (4.7).
  most_ = window_ < most_ ? window_ * 17 / 20 : window_;
  shrink_to(window_ * 7 / 10);
}

void TcpWindow::on_timeout(std::uint64_t in_flight) {
  most_ = window_;
  shrink_to(algorithm_ == TcpAlgorithm::kDctcp ? in_flight / 2 : in_flight * 7 / 10);
  window_ = segment_;
}

}  // namespace nerve::sim
