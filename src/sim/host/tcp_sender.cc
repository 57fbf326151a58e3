#include "sim/host/tcp_sender.h"

#include <algorithm>

namespace nerve::sim {
namespace {

constexpr std::uint64_t kReordered = 3;  // segments of reordering before a loss is assumed
constexpr unsigned kMostBackoff = 12;
constexpr Duration kLongestTimeout = std::chrono::seconds{120};

}  // namespace

TcpSender::TcpSender(const TcpSpec& spec, std::uint32_t segment)
    : segment_{segment},
      minimum_timeout_{spec.minimum_timeout},
      window_{spec.algorithm, segment, spec.first_window},
      allowed_{spec.receive_buffer},
      timeout_{std::max<Duration>(spec.minimum_timeout, std::chrono::milliseconds{1})} {}

void TcpSender::restart(const TcpSpec& spec) {
  TcpSender fresh{spec, static_cast<std::uint32_t>(segment_)};
  fresh.unacked_ = fresh.next_ = fresh.end_ = end_;
  fresh.allowed_ = allowed_;
  fresh.marked_ = marked_;
  *this = fresh;
}

// Unacknowledged bytes below this count as lost.
std::uint64_t TcpSender::lost_below() const {
  if (after_timeout_) return recover_;
  if (arrived_.empty()) return unacked_;
  const std::uint64_t late = (kReordered - 1) * segment_;
  const std::uint64_t highest = arrived_.highest();
  return std::max(unacked_ + segment_, highest > late ? highest - late : 0);
}

std::uint64_t TcpSender::in_flight() const {
  const std::uint64_t out = next_ - unacked_ - arrived_.bytes();
  if (!recovering_) return out;
  return out - arrived_.missing(std::max(resend_, unacked_), std::min(lost_below(), next_));
}

std::optional<TcpPiece> TcpSender::choose() const {
  const std::uint64_t flight = in_flight();
  if (recovering_) {
    const TcpRange hole = arrived_.hole(std::max(resend_, unacked_), std::min(lost_below(), next_));
    const std::uint64_t length = std::min(segment_, hole.end - hole.begin);
    if (length > 0) {
      if (resent_first_ && flight + length > window_.bytes()) return std::nullopt;
      return TcpPiece{hole.begin, static_cast<std::uint32_t>(length), true};
    }
  }
  const std::uint64_t limit = std::min(end_, allowed_);
  if (next_ >= limit) return std::nullopt;
  const std::uint64_t length = std::min(segment_, limit - next_);
  // Sends a short segment only at the end of the data or with nothing in flight; otherwise waits
  // for the receive window to open (silly window avoidance).
  if (length < segment_ && next_ + length < end_ && flight > 0) return std::nullopt;
  if (flight > 0 && flight + length > window_.bytes()) return std::nullopt;
  return TcpPiece{next_, static_cast<std::uint32_t>(length), false};
}

std::optional<TcpPiece> TcpSender::next() {
  const auto piece = choose();
  if (!piece) return std::nullopt;
  if (piece->again) {
    resend_ = piece->first + piece->length;
    resent_first_ = true;
  } else {
    next_ += piece->length;
  }
  return piece;
}

void TcpSender::on_emitted(Time now) {
  if (!deadline_ && next_ > unacked_) restart_timer(now);
}

void TcpSender::restart_timer(Time now) {
  if (next_ == unacked_) {
    deadline_.reset();
    return;
  }
  const Duration wait{timeout_.count() << std::min(backoff_, kMostBackoff)};
  deadline_ = now + std::min(wait, kLongestTimeout);
}

// RFC 6298, section 2.
void TcpSender::measure(Duration round_trip) {
  if (!measured_) {
    measured_ = true;
    smoothed_ = round_trip;
    variation_ = round_trip / 2;
  } else {
    const Duration off = round_trip > smoothed_ ? round_trip - smoothed_ : smoothed_ - round_trip;
    variation_ += (off - variation_) / 4;
    smoothed_ += (round_trip - smoothed_) / 8;
  }
  timeout_ = std::max(minimum_timeout_, smoothed_ + 4 * variation_);
}

void TcpSender::on_ack(const TcpSegment& segment, Time now) {
  const std::uint64_t flight = in_flight();
  allowed_ = std::max(allowed_, segment.allowed);
  if (segment.acknowledged < unacked_ || segment.acknowledged > next_) return;
  const std::uint64_t acked = segment.acknowledged - unacked_;
  const std::uint64_t marked = segment.marked > marked_ ? segment.marked - marked_ : 0;
  marked_ += marked;
  for (std::size_t i = 0; i < segment.range_count; ++i) {
    const TcpRange& range = segment.ranges[i];
    if (range.end > segment.acknowledged) arrived_.add(range);
  }
  unacked_ = segment.acknowledged;
  arrived_.drop_below(unacked_);
  if (acked > 0) {
    backoff_ = 0;
    if (segment.echo != 0) {
      measure(now - Time{Duration{static_cast<std::int64_t>(segment.echo)}});
    }
    restart_timer(now);
  }
  if (recovering_ && unacked_ >= recover_) recovering_ = after_timeout_ = false;
  if (!recovering_ && arrived_.bytes() > (kReordered - 1) * segment_) {
    recovering_ = true;
    resent_first_ = false;
    recover_ = next_;
    resend_ = unacked_;
    window_.on_loss(now);
    return;
  }
  // The window does not grow during recovery, except for slow start after a timeout.
  if (recovering_ && !after_timeout_) return;
  const std::uint64_t had = window_.bytes();
  const bool limited = window_.slow_start() ? 2 * flight >= had : flight + 2 * segment_ > had;
  window_.on_ack({now, acked, marked, unacked_, next_, smoothed_, limited});
}

void TcpSender::on_timeout(Time now) {
  ++backoff_;
  window_.on_timeout(in_flight());
  recovering_ = after_timeout_ = true;
  resent_first_ = false;
  recover_ = next_;
  resend_ = unacked_;
  restart_timer(now);
}

}  // namespace nerve::sim
