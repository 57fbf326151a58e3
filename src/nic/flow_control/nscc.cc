#include "nic/flow_control/nscc.h"

#include <algorithm>

namespace nerve::nic {
namespace {

__extension__ using Wide = unsigned __int128;

// The network for which the steps are given: 100 Gb/s and 12 us.
constexpr std::uint64_t kReferenceBytes = 150'000;
constexpr Duration kReferenceRoundTrip{std::chrono::microseconds{12}};

constexpr std::uint32_t kMostThousandths = 1'000'000;
constexpr Duration kLeastTrip{std::chrono::nanoseconds{100}};
constexpr std::uint64_t kAppliedEvery = 8;  // packets

NsccParameters usable(NsccParameters p) {
  p.base_round_trip = std::clamp(p.base_round_trip, kLeastTrip, kLongestRoundTrip);
  p.target = std::clamp(p.target, kLeastTrip, kLongestRoundTrip);
  p.fast_below = std::clamp(p.fast_below, Duration{}, kLongestRoundTrip);
  for (std::uint32_t* const one : {&p.increase, &p.fair_increase, &p.steady_increase,
                                   &p.fast_increase, &p.largest, &p.quick_delay}) {
    *one = std::min(*one, kMostThousandths);
  }
  p.gamma = std::min(p.gamma, 1000U);
  p.most_cut = std::min(p.most_cut, 999U);
  p.newest_weight_per_10k = std::min(p.newest_weight_per_10k, 10'000U);
  p.quick_gate = std::max(p.quick_gate, 1U);
  return p;
}

std::uint64_t bytes_of(Rate rate, Duration time) {
  return static_cast<std::uint64_t>(Wide{rate.bits_per_second()} *
                                    static_cast<std::uint64_t>(time.count()) / 8'000'000'000'000U);
}

}  // namespace

// The first window is the largest: a flow starts at line rate.
Nscc::Nscc(const NsccParameters& parameters, Rate line_rate, std::uint32_t packet_bytes)
    : parameters_{usable(parameters)},
      line_{line_rate},
      packet_{std::max(packet_bytes, 1U)},
      base_{parameters_.base_round_trip},
      window_{largest()} {}

std::uint64_t Nscc::step(std::uint32_t thousandths) const {
  const std::uint64_t network = bytes_of(line_, parameters_.base_round_trip);
  return static_cast<std::uint64_t>(Wide{packet_} * thousandths * network / kReferenceBytes / 1000);
}

std::uint64_t Nscc::largest() const {
  const Wide bytes = Wide{bytes_of(line_, base_)} * parameters_.largest / 1000;
  return std::max(static_cast<std::uint64_t>(bytes), packet_);
}

void Nscc::hold_in_bounds() { window_ = std::clamp(window_, packet_, largest()); }

// A packet that was not marked although the delay is long has seen a queue that drains.
void Nscc::note_delay(Duration delay, bool marked) {
  const Duration counted = !marked && delay > parameters_.target ? base_ / 4 : delay;
  constexpr std::int64_t kParts = 10'000;
  const std::int64_t weight = parameters_.newest_weight_per_10k;
  mean_delay_ = (counted * weight + mean_delay_ * (kParts - weight)) / kParts;
}

bool Nscc::quick_adapt(bool lost, bool marked, Duration delay, Time now) {
  bool settled = false;
  if (ignored_ < to_ignore_ && marked) {
    settled = true;
  } else if (!period_end_ || now > *period_end_) {
    const bool bad = lost_ || lost || delay > parameters_.target * parameters_.quick_delay / 1000;
    if (period_end_ && bad && achieved_ < largest() / parameters_.quick_gate) {
      window_ = std::max(std::min(achieved_, window_), packet_);
      to_ignore_ = in_flight_;
      ignored_ = 0;
      lost_ = false;
      settled = true;
    }
    achieved_ = 0;
    period_end_ = now + base_ + parameters_.target;
  }
  if (settled) {
    owed_ = 0;
    received_ = 0;
  }
  return settled;
}

void Nscc::increase(std::uint64_t acked_bytes, Duration delay) {
  if (delay < parameters_.fast_below) {
    without_queue_ += acked_bytes;
    if (without_queue_ > window_ || fast_) {
      fast_ = true;
      const Wide scaled = Wide{acked_bytes} * step(parameters_.fast_increase) / packet_;
      window_ += static_cast<std::uint64_t>(scaled);
      return;
    }
  } else {
    without_queue_ = 0;
  }
  fast_ = false;
  const auto room = static_cast<std::uint64_t>((parameters_.target - delay).count());
  owed_ += Wide{step(parameters_.increase)} * acked_bytes * room /
           static_cast<std::uint64_t>(kReferenceRoundTrip.count());
}

void Nscc::decrease(Time now) {
  fast_ = false;
  without_queue_ = 0;
  if (mean_delay_ <= parameters_.target) return;
  if (last_cut_ && now - *last_cut_ <= base_) return;
  const auto over = static_cast<std::uint64_t>((mean_delay_ - parameters_.target).count());
  const auto mean = static_cast<std::uint64_t>(mean_delay_.count());
  const auto by = static_cast<std::uint64_t>(Wide{over} * parameters_.gamma / mean);
  const std::uint64_t kept = 1000 - std::min<std::uint64_t>(by, parameters_.most_cut);
  window_ = static_cast<std::uint64_t>(Wide{window_} * kept / 1000);
  last_cut_ = now;
}

void Nscc::apply_increase(Time now) {
  const bool period = !last_applied_ || now - *last_applied_ >= parameters_.base_round_trip;
  if (received_ <= kAppliedEvery * packet_ && !period) return;
  window_ += static_cast<std::uint64_t>(owed_ / window_);
  if (period) {
    window_ += step(parameters_.steady_increase);
    last_applied_ = now;
  }
  owed_ = 0;
  received_ = 0;
}

void Nscc::on_ack(const AckSample& sample) {
  in_flight_ = sample.outstanding_bytes;
  achieved_ += sample.acked_bytes;
  received_ += sample.acked_bytes;
  ignored_ += sample.acked_bytes;
  Duration delay = mean_delay_;
  if (sample.round_trip && *sample.round_trip > Duration{}) {
    const Duration trip = std::min(*sample.round_trip, kLongestRoundTrip);
    base_ = std::min(base_, std::max(trip, kLeastTrip));
    delay = std::max(trip - base_, Duration{});
    note_delay(delay, sample.ecn_echo);
  }
  if (quick_adapt(false, sample.ecn_echo, delay, sample.now)) return;
  const bool long_delay = delay >= parameters_.target;
  if (sample.ecn_echo) {
    if (long_delay) decrease(sample.now);
  } else if (long_delay) {
    owed_ += Wide{step(parameters_.fair_increase)} * sample.acked_bytes;
  } else {
    increase(sample.acked_bytes, delay);
  }
  hold_in_bounds();
  apply_increase(sample.now);
  hold_in_bounds();
}

void Nscc::on_trim(std::uint64_t bytes, Time now) {
  ignored_ += bytes;
  note_delay(parameters_.base_round_trip, true);
  lost_ = true;
  if (quick_adapt(true, true, Duration{}, now)) return;
  window_ -= std::min(bytes, window_);
  hold_in_bounds();
}

}  // namespace nerve::nic
