// The estimate of a candidate: a run with messages as flows. The layers of a model repeat, so a
// training job with many is run with few and with twice as many, and the rest is a straight line
// through the two.
#pragma once

#include <string>
#include <vector>

#include "sim/plan/figures.h"
#include "sim/plan/study.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::plan {

struct EstimateRun {
  Scenario scenario;
  std::string how;  // names its file, with the scenario
};

struct EstimateRuns {
  std::vector<EstimateRun> runs;  // one, or two
  double beyond{};                // how many times their difference is to be added to the second
};

[[nodiscard]] EstimateRuns estimate_runs(const Study& study, const Option& option);

// The figures of the whole job from those of its runs.
[[nodiscard]] Figures extrapolated(const EstimateRuns& estimate, const std::vector<Figures>& runs);

}  // namespace nerve::sim::plan
