// Works a plan out: estimates in waves, then the packets of the finalists. Somebody else runs them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/plan/figures.h"
#include "sim/plan/study.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::plan {

struct PlannedRun {
  Scenario scenario;
  std::string key;  // the same for the same simulation: 32 hex digits
};

struct RunOutcome {
  std::optional<Figures> figures;
  std::string error;  // why there are none
};

// Fills in an outcome for each run, in their order; false to give up. The first argument is what
// they are, for a progress line.
using RunAll = std::function<bool(const std::string& what, const std::vector<PlannedRun>& runs,
                                  std::vector<RunOutcome>& outcomes)>;

// False if the runner gave up.
[[nodiscard]] bool estimate_all(Study& study, const RunAll& run_all);
[[nodiscard]] bool simulate_finalists(Study& study, const RunAll& run_all);

// `how` is what the text of the scenario does not have.
[[nodiscard]] std::string run_key(std::string_view scenario_text, std::string_view how);

}  // namespace nerve::sim::plan
