#include "nic/flow_control/timely.h"

#include <algorithm>
#include <limits>

namespace nerve::nic {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::int64_t kOneInMillionths = 1'000'000;
constexpr Duration kShortest = std::chrono::nanoseconds{100};

TimelyParameters usable(TimelyParameters p, Rate line) {
  p.newest_weight = std::min(p.newest_weight, 1000U);
  p.beta = std::min(p.beta, 1000U);
  p.minimum_round_trip = std::clamp(p.minimum_round_trip, kShortest, kLongestRoundTrip);
  p.low = std::clamp(p.low, kShortest, kLongestRoundTrip);
  p.high = std::clamp(p.high, p.low, kLongestRoundTrip);
  p.step = std::min(p.step, line);
  p.hyper_after = std::max(p.hyper_after, 1U);
  p.steepest = std::min(p.steepest, 1'000'000U);
  p.minimum_rate = std::min(std::max(p.minimum_rate, Rate::megabits(1)), line);
  return p;
}

}  // namespace

Timely::Timely(const TimelyParameters& parameters, Rate line_rate)
    : parameters_{usable(parameters, line_rate)}, line_{line_rate.bits_per_second()}, rate_{line_} {
  round_trips_.limit(parameters_.samples);
}

void Timely::on_ack(const AckSample& sample) {
  if (!sample.round_trip || *sample.round_trip <= Duration{}) return;
  const Duration trip = std::min(*sample.round_trip, kLongestRoundTrip);
  const Duration before = std::exchange(last_, trip);
  if (before == Duration{}) return;  // a difference needs two samples
  const std::int64_t weight = parameters_.newest_weight;
  difference_ = (difference_ * (1000 - weight) + (trip - before).count() * weight) / 1000;

  if (trip < parameters_.low) {
    if (parameters_.low_is_good) return grow_well();
    good_ = 0;
    return grow(1);
  }
  if (trip > parameters_.high) {
    good_ = 0;
    const std::int64_t over =
        kOneInMillionths - kOneInMillionths * parameters_.high.count() / trip.count();
    return cut(over * parameters_.beta / 1000);
  }
  if (difference_ <= 0) return grow_well();
  good_ = 0;
  const std::int64_t gradient =
      std::min(kOneInMillionths * difference_ / parameters_.minimum_round_trip.count(),
               std::int64_t{parameters_.steepest} * 1000);
  cut(std::min(gradient * parameters_.beta / 1000, kOneInMillionths));
}

void Timely::grow_well() {
  good_ = std::min(good_ + 1, parameters_.hyper_after);
  grow(good_ == parameters_.hyper_after ? parameters_.hyper_steps : 1);
}

void Timely::grow(std::uint64_t steps) {
  const Wide grown = Wide{rate_} + Wide{steps} * parameters_.step.bits_per_second();
  rate_ = static_cast<std::uint64_t>(std::min<Wide>(grown, line_));
}

void Timely::cut(std::int64_t millionths) {
  const auto kept = static_cast<std::uint64_t>(kOneInMillionths - millionths);
  rate_ = std::max(static_cast<std::uint64_t>(Wide{rate_} * kept / kOneInMillionths),
                   parameters_.minimum_rate.bits_per_second());
}

std::uint64_t Timely::window_bytes() const { return std::numeric_limits<std::uint64_t>::max(); }

}  // namespace nerve::nic
