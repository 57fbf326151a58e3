// What follows from the figures of a study: the Pareto front, the advice with its reason, how it
// depends on each price, why one candidate beats another.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/plan/study.h"

namespace nerve::sim::plan {

// What the score of the best candidate does when one price goes to an end of its range.
struct Sensitivity {
  std::size_t part{};
  double low_change{};  // of its score, as a share
  double high_change{};
  std::size_t best_at_low{};  // number of the candidate that is best then
  std::size_t best_at_high{};
};

struct Conclusion {
  std::vector<std::size_t> ranking;  // numbers of the finalists, the best first
  std::vector<std::size_t> front;    // numbers; the cheapest first
  std::size_t best{};                // number; zero: no candidate keeps the limits
  std::size_t runner_up{};           // number; of another topology, link or server if there is one
  std::string advice;                // one sentence
  std::vector<std::string> reasons;
  std::vector<Sensitivity> sensitivity;  // the largest first
};

[[nodiscard]] Conclusion conclude(const Study& study);

// Why the first beats the second; or that it does not. Lines of text.
[[nodiscard]] std::vector<std::string> explain(const Study& study, const Option& a,
                                               const Option& b);

// $1.23 per million tokens; $0.57 per million runs
[[nodiscard]] std::string unit_cost_text(const Study& study, const Option& option);
[[nodiscard]] std::string money_text(double dollars);    // $12.3 M
[[nodiscard]] std::string price_text(double dollars);    // $59430, $0.0912
[[nodiscard]] std::string time_text_of(double seconds);  // 12.3 ms
[[nodiscard]] std::string share_text(double share);      // 12.3 %
// What a price is of: per million tokens, per million runs.
[[nodiscard]] std::string unit_text(const Study& study);
[[nodiscard]] double units_shown(const Study& study);  // a million

}  // namespace nerve::sim::plan
