#include "nic/flow_control/dcqcn.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace nerve::nic {
namespace {

__extension__ using Wide = unsigned __int128;

// Halving the gap forever would count stages for a difference too small for any pacer.
constexpr unsigned kNearLineShift = 10;

// Parameters may come from a file: values that would divide by zero or never terminate are replaced
// by the nearest valid ones.
DcqcnParameters usable(DcqcnParameters p, Rate line) {
  constexpr Duration shortest = std::chrono::nanoseconds{100};
  constexpr Rate slowest = Rate::megabits(1);
  p.g_inverse = std::max(p.g_inverse, 1U);
  p.alpha_timer = std::max(p.alpha_timer, shortest);
  p.increase_timer = std::max(p.increase_timer, shortest);
  if (p.cut_by_timer) p.decrease_interval = std::max(p.decrease_interval, shortest);
  p.additive_increase = std::max(p.additive_increase, slowest);
  p.minimum_rate = std::min(std::max(p.minimum_rate, slowest), line);
  return p;
}

}  // namespace

Dcqcn::Dcqcn(const DcqcnParameters& parameters, Rate line_rate)
    : line_{line_rate.bits_per_second()},
      rate_{line_},
      parameters_{usable(parameters, line_rate)},
      target_{line_} {}

void Dcqcn::on_cnp(Time now) {
  catch_up(now);
  if (parameters_.alpha_by_timer) note_in_period(now);
  if (parameters_.cut_by_timer) return cut_at_next_tick(now);
  const Duration since_cut = now - last_cut_;
  if (cut_before_ && since_cut >= Duration{} && since_cut < parameters_.decrease_interval) return;
  cut(now);
}

void Dcqcn::cut_at_next_tick(Time now) {
  if (cut_due_) return;
  if (!cut_before_) {
    last_tick_ = now;
    if (!parameters_.alpha_by_timer) last_cut_ = now;  // alpha decays from here on
    cut_before_ = true;
  }
  last_tick_ +=
      ((now - last_tick_) / parameters_.decrease_interval + 1) * parameters_.decrease_interval;
  cut_due_ = last_tick_;
}

void Dcqcn::cut(Time now) {
  if (parameters_.alpha_by_timer) {
    count_periods(now);
  } else if (cut_before_) {
    decay_alpha((now - last_cut_) / parameters_.alpha_timer);
  }
  cut_before_ = true;
  last_cut_ = now;

  if (parameters_.clamp_target || time_stages_ + byte_stages_ > 0) target_ = rate_;
  const auto cut = static_cast<std::uint64_t>(Wide{rate_} * alpha_ / kOne / 2);
  rate_ = std::max(rate_ - cut, parameters_.minimum_rate.bits_per_second());
  if (!parameters_.alpha_by_timer) grow_alpha();

  bytes_ = 0;
  time_stages_ = byte_stages_ = 0;
  stage_ends_ = now + parameters_.increase_timer;
}

// Alpha matters only at a cut, so its timer is not run; missed periods are applied then.
void Dcqcn::decay_alpha(std::int64_t steps) {
  for (; steps > 0; --steps) {
    const std::uint64_t step = alpha_ / parameters_.g_inverse;
    if (step == 0) return;
    alpha_ -= step;
  }
}

void Dcqcn::grow_alpha() { alpha_ += (kOne - alpha_) / parameters_.g_inverse; }

// Periods are counted from the first CNP, at which alpha is one.
void Dcqcn::note_in_period(Time now) {
  if (!cut_before_) {
    period_begins_ = now;
    return;
  }
  count_periods(now);
  cnp_in_period_ = true;
}

// Applies the periods that have ended: the first may contain a CNP, the others do not.
void Dcqcn::count_periods(Time now) {
  std::int64_t periods = (now - period_begins_) / parameters_.alpha_timer;
  if (periods <= 0) return;
  period_begins_ += periods * parameters_.alpha_timer;
  if (std::exchange(cnp_in_period_, false)) {
    grow_alpha();
    --periods;
  }
  decay_alpha(periods);
}

void Dcqcn::on_send(std::uint64_t bytes, Time now) {
  catch_up(now);
  if (!limited() || parameters_.byte_counter == 0) return;
  bytes_ += bytes;
  while (bytes_ >= parameters_.byte_counter && limited()) {
    bytes_ -= parameters_.byte_counter;
    increase();
    ++byte_stages_;
  }
}

// A deadline much further ahead than its period is a time of months ago, before the clock wrapped.
bool Dcqcn::was_months_ago(Time now) const {
  constexpr Duration much = std::chrono::seconds{1};
  return (limited() && stage_ends_ - now > parameters_.increase_timer + much) ||
         (cut_due_ && *cut_due_ - now > parameters_.decrease_interval + much);
}

void Dcqcn::catch_up(Time now) {
  if (!limited() && !cut_due_) return;
  if (was_months_ago(now)) {
    rate_ = target_ = line_;
    cut_due_.reset();
    return;
  }
  if (cut_due_ && *cut_due_ <= now) {
    end_stages(*cut_due_);
    cut(*cut_due_);
    cut_due_.reset();
  }
  end_stages(now);
}

void Dcqcn::end_stages(Time now) {
  while (limited() && stage_ends_ <= now) {
    stage_ends_ += parameters_.increase_timer;
    increase();
    ++time_stages_;
  }
}

void Dcqcn::increase() {
  // Stages are counted when they have ended: fast recovery halves the gap F times.
  const std::uint32_t most = std::max(time_stages_, byte_stages_);
  const std::uint32_t least =
      parameters_.byte_counter == 0 ? time_stages_ : std::min(time_stages_, byte_stages_);
  if (least > parameters_.fast_recovery_stages) {
    target_ += parameters_.hyper_increase.bits_per_second();
  } else if (most >= parameters_.fast_recovery_stages) {
    target_ += parameters_.additive_increase.bits_per_second();
  }
  target_ = std::min(target_, line_);
  rate_ += (target_ - rate_) / 2;  // the target is never below the rate
  if (line_ - rate_ <= line_ >> kNearLineShift) rate_ = target_ = line_;
}

std::uint64_t Dcqcn::window_bytes() const { return std::numeric_limits<std::uint64_t>::max(); }

}  // namespace nerve::nic
