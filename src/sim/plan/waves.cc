// What to run next: estimates in waves, then the finalists.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "sim/plan/study.h"

namespace nerve::sim::plan {
namespace {

// The same for every number of cores, so that what is pruned is too.
constexpr std::size_t kWave = 8;

// Candidates whose runs have the same bound: it is the time without sharing any cable.
bool same_bound(const Candidate& a, const Candidate& b) {
  const bool same_split = a.parallelism.has_value() == b.parallelism.has_value() &&
                          (!a.parallelism || (a.parallelism->tensor == b.parallelism->tensor &&
                                              a.parallelism->pipeline == b.parallelism->pipeline));
  return same_split && a.gpus() == b.gpus() && a.gpus_per_server == b.gpus_per_server &&
         a.nics_per_server == b.nics_per_server && a.nic_rate == b.nic_rate &&
         (a.network == NetworkKind::kTcp) == (b.network == NetworkKind::kTcp);
}

double bound_of(const Study& study, const Option& option) {
  for (const Option& other : study.options) {
    if (other.flow && other.known() && same_bound(other.candidate, option.candidate)) {
      return other.flow->bound_seconds;
    }
  }
  return 0;
}

// A known option that costs no more and that this one cannot beat by what is worth paying for.
const Option* better_than(const Study& study, const Option& option, double bound) {
  const double promise = bound / option.units * (1 + study.spec.worth);
  const Option* best = nullptr;
  for (const Option& other : study.options) {
    if (!other.known() || other.total().typical > option.total().typical) continue;
    if (seconds_per_unit(other) > promise) continue;
    // Another network may lose packets or cores that flows do not know of: each is tried once.
    if (other.candidate.network != option.candidate.network) continue;
    if (best == nullptr || seconds_per_unit(other) < seconds_per_unit(*best)) best = &other;
  }
  return best;
}

bool is_dominated(const Study& study, const Option& option) {
  return std::ranges::any_of(study.options, [&](const Option& other) {
    if (!other.known() || &other == &option) return false;
    const double time = seconds_per_unit(other);
    const double own = seconds_per_unit(option);
    const double cost = other.total().typical;
    const double own_cost = option.total().typical;
    if (time > own || cost > own_cost) return false;
    return time < own || cost < own_cost || other.number < option.number;
  });
}

double mean_seconds(const std::vector<Figures>& seeds) {
  double sum = 0;
  for (const Figures& figures : seeds) sum += figures.seconds;
  return sum / static_cast<double>(seeds.size());
}

double mean_idle(const std::vector<Figures>& seeds) {
  double sum = 0;
  for (const Figures& figures : seeds) sum += figures.idle;
  return sum / static_cast<double>(seeds.size());
}

bool all_ended(Option& option) {
  for (const Figures& figures : option.packets) {
    if (figures.done && figures.seconds > 0) continue;
    option.state = State::kFailed;
    option.reason = figures.trouble.empty() ? "took no time" : figures.trouble;
    return false;
  }
  return !option.packets.empty();
}

void take_seeds(Option& option, double factor) {
  option.seconds = mean_seconds(option.packets) * factor;
  option.least_seconds = option.seconds;
  option.most_seconds = option.seconds;
  for (const Figures& figures : option.packets) {
    option.least_seconds = std::min(option.least_seconds, figures.seconds * factor);
    option.most_seconds = std::max(option.most_seconds, figures.seconds * factor);
  }
}

}  // namespace

std::vector<std::size_t> next_wave(Study& study) {
  std::vector<std::size_t> waiting;
  for (std::size_t i = 0; i < study.options.size(); ++i) {
    if (study.options[i].state == State::kWaiting) waiting.push_back(i);
  }
  std::ranges::stable_sort(waiting, {},
                           [&study](std::size_t i) { return study.options[i].total().typical; });
  std::vector<std::size_t> wave;
  for (const std::size_t i : waiting) {
    Option& option = study.options[i];
    const double bound = bound_of(study, option);
    const Option* better = bound > 0 ? better_than(study, option, bound) : nullptr;
    if (better != nullptr) {
      option.state = State::kPruned;
      option.reason = fmt::format(
          "costs no less than {}, and the bound of its time is at most {:.1f} % shorter",
          better->number,
          std::max(0.0, 100 * (1 - bound / option.units / seconds_per_unit(*better))));
    } else if (wave.size() < kWave) {
      wave.push_back(i);
    }
  }
  return wave;
}

void note_estimate(Option& option, const Figures& figures) {
  option.flow = figures;
  if (!figures.done || figures.seconds <= 0) {
    option.state = State::kFailed;
    option.reason = figures.trouble.empty() ? "took no time" : figures.trouble;
    return;
  }
  option.state = State::kEstimated;
  option.seconds = option.least_seconds = option.most_seconds = figures.seconds;
  option.idle = figures.idle;
}

std::vector<std::size_t> choose_finalists(const Study& study) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < study.options.size(); ++i) {
    const Option& option = study.options[i];
    if (option.state == State::kEstimated && too_slow(study, option).empty()) order.push_back(i);
  }
  std::ranges::stable_sort(order, {},
                           [&study](std::size_t i) { return score_of(study, study.options[i]); });
  std::vector<std::size_t> chosen;
  const auto add = [&](std::size_t i) {
    if (chosen.size() >= study.spec.finalists) return;
    if (std::ranges::find(chosen, i) == chosen.end()) chosen.push_back(i);
  };
  if (!order.empty()) add(order.front());
  for (const NetworkKind network : study.spec.vary.network) {
    const auto first = std::ranges::find_if(
        order, [&](std::size_t i) { return study.options[i].candidate.network == network; });
    if (first != order.end()) add(*first);
  }
  const std::vector<TopologyKind> shapes{std::begin(kPlanned), std::end(kPlanned)};
  for (const TopologyKind topology : shapes) {
    const auto first = std::ranges::find_if(
        order, [&](std::size_t i) { return study.options[i].candidate.topology == topology; });
    if (first != order.end()) add(*first);
  }
  for (const std::size_t i : order) {
    if (!is_dominated(study, study.options[i])) add(i);
  }
  for (const std::size_t i : order) add(i);
  return chosen;
}

void note_packets(Option& option, std::vector<Figures> seeds) {
  option.packets = std::move(seeds);
  if (!all_ended(option)) return;
  option.state = State::kSimulated;
  take_seeds(option, 1);
  option.idle = mean_idle(option.packets);
}

void note_scaled(Option& option, const Figures& small_flow, std::vector<Figures> seeds,
                 std::string how) {
  option.packets = std::move(seeds);
  if (!all_ended(option)) return;
  option.scaled = std::move(how);
  option.state = State::kScaled;
  take_seeds(option, option.flow->seconds / small_flow.seconds);
  // Time beyond the estimate is waiting.
  if (option.flow->idle >= 0) {
    option.idle = 1 - (1 - option.flow->idle) * option.flow->seconds / option.seconds;
    option.idle = std::clamp(option.idle, 0.0, 1.0);
  }
}

void note_failure(Option& option, std::string reason) {
  option.state = State::kFailed;
  option.reason = std::move(reason);
}

}  // namespace nerve::sim::plan
