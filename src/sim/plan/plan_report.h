// A finished plan: a table for a terminal, and plan.json, which the page shows.
#pragma once

#include <string>

#include "sim/plan/conclusion.h"
#include "sim/plan/study.h"

namespace nerve::sim::plan {

[[nodiscard]] std::string plan_table(const Study& study, const Conclusion& conclusion);
[[nodiscard]] std::string plan_json(const Study& study, const Conclusion& conclusion);
// The parts in force, for `nerve plan --prices`.
[[nodiscard]] std::string price_table(const Prices& prices);

}  // namespace nerve::sim::plan
