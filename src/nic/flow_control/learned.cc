#include "nic/flow_control/learned.h"

#include <algorithm>

namespace nerve::nic {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kByteTime = 8'000'000'000'000;  // at one bit per second
constexpr Duration kShortestTrip = std::chrono::nanoseconds{100};
// A step is a factor of 1 + 1/5 at most.
constexpr std::uint64_t kSteps = 5;
// The least round trip is forgotten after one to two periods.
constexpr Duration kPeriod = std::chrono::seconds{5};
// The lowest rate is the line rate divided by this: the range of log(rate / line) is that of the
// policy's training.
constexpr std::uint64_t kRates = 4096;

LearnedParameters usable(LearnedParameters p) {
  if (p.base_round_trip > Duration{}) {
    p.base_round_trip = std::clamp(p.base_round_trip, kShortestTrip, kLongestRoundTrip);
  }
  p.stuck_after = std::max(p.stuck_after, 1U);
  p.calm_rounds = std::max(p.calm_rounds, 1U);
  return p;
}

// Nothing is known about the path yet: a guess that the first round trip corrects.
constexpr Duration kFirstGuess = std::chrono::microseconds{20};

std::uint64_t picoseconds(Duration time) { return static_cast<std::uint64_t>(time.count()); }

}  // namespace

Learned::Learned(const LearnedParameters& parameters, const SwiftParameters& swift, Rate line_rate,
                 std::uint32_t packet_bytes, std::uint64_t& fallbacks)
    : parameters_{usable(parameters)},
      swift_parameters_{swift},
      policy_{parameters.policy != nullptr ? *parameters.policy : shipped_policy()},
      fallbacks_{fallbacks},
      line_{std::max<std::uint64_t>(line_rate.bits_per_second(), 1)},
      minimum_{
          std::min(std::max(line_ / kRates, parameters_.minimum_rate.bits_per_second()), line_)},
      rate_{line_},
      packet_bytes_{std::max(packet_bytes, 1U)},
      least_{parameters_.base_round_trip},
      least_before_{parameters_.base_round_trip} {}

Duration Learned::least_round_trip() const {
  if (least_ == Duration{}) return kFirstGuess;
  return least_before_ == Duration{} ? least_ : std::min(least_, least_before_);
}

void Learned::measure(Duration round_trip, Time now) {
  const Duration trip = std::clamp(round_trip, kShortestTrip, kLongestRoundTrip);
  const Duration age = now - period_begins_;
  if (least_ == Duration{}) {
    least_ = trip;
    period_begins_ = now;
  } else if (age < Duration{} || age > kPeriod) {
    least_before_ = least_;
    least_ = trip;
    period_begins_ = now;
  }
  least_ = std::min(least_, trip);
  sum_ += trip;
  ++samples_;
}

void Learned::on_ack(const AckSample& sample) {
  acked_ += sample.acked_bytes;
  ++acks_;
  if (sample.ecn_echo) ++marked_;
  if (sample.round_trip && *sample.round_trip > Duration{}) measure(*sample.round_trip, sample.now);
  if (swift_) swift_->on_ack(sample);
  if (samples_ == 0 || acked_ < round_ends_) return;
  end_round(sample);
}

Policy::Inputs Learned::inputs_for(Duration round_trip) const {
  const Duration least = least_round_trip();
  const Duration above = std::max(round_trip - least, Duration{});
  const std::int32_t log = log2_of(picoseconds(round_trip));
  const Duration before = trip_before_ == Duration{} ? round_trip : trip_before_;
  // In 1/256 packets.
  const Wide queued = Wide{line_} * picoseconds(above) * 256U / kByteTime / packet_bytes_;
  Policy::Inputs inputs{};
  inputs[Policy::kInflation] = std::max(log - log2_of(picoseconds(least)), 0);
  inputs[Policy::kTrend] = log - log2_of(picoseconds(before));
  inputs[Policy::kMarked] = static_cast<std::int32_t>(std::uint64_t{std::min(marked_, acks_)} *
                                                      Policy::kOne / std::max(acks_, 1U));
  inputs[Policy::kRate] = log2_of(rate_) - log2_of(line_);
  inputs[Policy::kAction] = action_;
  inputs[Policy::kActionBefore] = action_before_;
  inputs[Policy::kQueued] =
      log2_of(256 + static_cast<std::uint64_t>(std::min<Wide>(queued, Wide{1} << 62U))) -
      8 * Policy::kOne;
  return inputs;
}

void Learned::end_round(const AckSample& sample) {
  const Duration trip = sum_ / samples_;
  const Policy::Inputs inputs = inputs_for(trip);
  trip_before_ = trip;
  round_ends_ = acked_ + std::max<std::uint64_t>(sample.outstanding_bytes, 1);
  sum_ = {};
  samples_ = acks_ = marked_ = 0;
  if (!in_trained_range(policy_, inputs)) return hand_over(trip);
  if (swift_) {
    if (++calm_ < parameters_.calm_rounds) return;
    rate_ = rate().bits_per_second();
    swift_.reset();
    return;
  }
  const std::int32_t action = decide(policy_, inputs);
  stuck_ = action < 0 && rate_ <= minimum_ ? stuck_ + 1 : 0;
  if (stuck_ >= parameters_.stuck_after) return hand_over(trip);
  act(action);
}

void Learned::act(std::int32_t action) {
  constexpr auto kWhole = static_cast<std::uint64_t>(Policy::kOne) * kSteps;
  const auto step = static_cast<std::uint64_t>(action < 0 ? -action : action);
  const Wide changed =
      action < 0 ? Wide{rate_} * kWhole / (kWhole + step) : Wide{rate_} * (kWhole + step) / kWhole;
  rate_ = std::clamp(static_cast<std::uint64_t>(std::min<Wide>(changed, line_)), minimum_, line_);
  action_before_ = action_;
  action_ = action;
}

void Learned::hand_over(Duration round_trip) {
  calm_ = stuck_ = 0;
  action_ = action_before_ = 0;
  if (swift_) return;
  ++fallbacks_;
  swift_ = std::make_unique<Swift>(swift_parameters_, Rate::bits_per_second(line_), packet_bytes_);
  swift_->continue_at(Rate::bits_per_second(rate_), round_trip);
}

void Learned::on_loss(Time now) {
  if (swift_) return swift_->on_nak(now);
  const Duration since = now - last_loss_;
  if (lost_before_ && since >= Duration{} && since < std::max(trip_before_, least_round_trip())) {
    return;
  }
  lost_before_ = true;
  last_loss_ = now;
  rate_ = std::max(rate_ / 2, minimum_);
}

Rate Learned::rate() const {
  if (!swift_) return Rate::bits_per_second(rate_);
  // Swift with a window of a packet or more sends at line rate: what its window allows.
  const Duration trip = trip_before_ > Duration{} ? trip_before_ : least_round_trip();
  const Wide allowed = Wide{swift_->window_bytes()} * kByteTime / picoseconds(trip);
  const auto least = std::min<Wide>(allowed, swift_->rate().bits_per_second());
  return Rate::bits_per_second(std::clamp(static_cast<std::uint64_t>(least), minimum_, line_));
}

std::uint64_t Learned::window_bytes() const {
  if (swift_) return swift_->window_bytes();
  const Wide bytes = Wide{rate_} * picoseconds(least_round_trip()) / kByteTime *
                     static_cast<std::uint64_t>(policy_.window) / Policy::kOne;
  return static_cast<std::uint64_t>(bytes) + packet_bytes_;
}

}  // namespace nerve::nic
