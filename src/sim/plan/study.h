// A plan being worked on: its candidates, what is known of each, and what to run next. Nothing here
// runs anything; the caller does, with as many processes as it likes: no decision depends on how
// many, or on which run ends first.
//
//   make_study -> next_wave, note_estimate (until no wave is left) -> choose_finalists,
//   note_packets -> conclude (conclusion.h)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/plan/bill.h"
#include "sim/plan/candidate.h"
#include "sim/plan/figures.h"
#include "sim/plan/plan_spec.h"
#include "sim/plan/prices.h"

namespace nerve::sim::plan {

enum class State : std::uint8_t {
  kWaiting,
  kRefused,    // cannot be built, or exceeds a limit
  kPruned,     // by a bound: it costs more than another and cannot be faster
  kEstimated,  // with messages as flows
  kSimulated,  // packet by packet, with every seed
  kScaled,     // packet by packet on a smaller cluster, which corrects the estimate
  kFailed,     // a run failed, or its jobs did not end
};

struct Option {
  std::size_t number{};  // from 1
  Candidate candidate{};
  std::string name;
  State state{};
  std::string reason;  // of kRefused, kPruned, kFailed
  std::vector<Override> overrides;
  Bill bill;
  Money capital{};
  Money network_capital{};
  Money energy{};   // of all years
  double watts{};   // with cooling
  double units{1};  // tokens, or runs, of one run of the jobs
  std::optional<Figures> flow;
  std::vector<Figures> packets;  // one for each seed
  std::string scaled;            // how a smaller cluster differs, if one was simulated
  std::string remark;            // why a finalist was not simulated
  double seconds{};              // of a run: the mean of the seeds
  double least_seconds{};
  double most_seconds{};
  double idle{-1};

  [[nodiscard]] Money total() const { return capital + energy; }
  [[nodiscard]] bool known() const {
    return state == State::kEstimated || state == State::kSimulated || state == State::kScaled;
  }
  [[nodiscard]] bool measured() const {
    return state == State::kSimulated || state == State::kScaled;
  }
};

struct Study {
  PlanSpec spec;
  Prices prices;
  std::vector<Option> options;
  std::string unit;  // token, run, run of a GPU
};

// Errors are those of the plan file: keys of scenarios that no candidate can be built with.
[[nodiscard]] Result<Study, std::vector<ScenarioError>> make_study(PlanSpec spec, Prices prices);

// Indices of the options to estimate next, the cheapest first; marks those that need no estimate.
[[nodiscard]] std::vector<std::size_t> next_wave(Study& study);
void note_estimate(Option& option, const Figures& figures);

// Of the estimated options: the best, the best of each network, the best of each topology, then the
// Pareto front, then the next best.
[[nodiscard]] std::vector<std::size_t> choose_finalists(const Study& study);

// A finalist with all seeds at its own size.
void note_packets(Option& option, std::vector<Figures> seeds);
// Or smaller: the estimate is multiplied by packets over flows there.
void note_scaled(Option& option, const Figures& small_flow, std::vector<Figures> seeds,
                 std::string how);
// Every run of it failed, or its jobs never end.
void note_failure(Option& option, std::string reason);

// The scenario of an option, messages as flows. Networks that flows cannot tell apart have the
// same.
[[nodiscard]] Scenario estimate_scenario(const Study& study, const Option& option);
[[nodiscard]] Scenario packet_scenario(const Study& study, const Option& option,
                                       std::uint32_t seed);

// Seconds for each unit: a run, or a token.
[[nodiscard]] double seconds_per_unit(const Option& option);
// The cluster's cost over its life, for each unit.
[[nodiscard]] Money cost_per_unit(const Study& study, const Option& option);
// What the goal minimises.
[[nodiscard]] double score_of(const Study& study, const Option& option);
// Empty: it keeps the limits of time.
[[nodiscard]] std::string too_slow(const Study& study, const Option& option);

}  // namespace nerve::sim::plan
