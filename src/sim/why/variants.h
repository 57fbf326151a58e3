// The runs that would prove a diagnosis: the same scenario with some values changed.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/scenario/document.h"
#include "sim/scenario/override.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim {

struct Variant {
  std::string cause;  // CauseResult::kind
  std::vector<Override> set;
};

// The job with the largest excess, relative to its floor; none if all jobs are at their bounds.
[[nodiscard]] std::optional<std::size_t> job_to_explain(const RunResult& result);

// What to try for the causes of that job, in their order. `document` is the scenario's file: the
// names of keys depend on whether it has a list of jobs or one.
[[nodiscard]] std::vector<Variant> variants_for(const scenario_file::Node& document,
                                                const Scenario& scenario, const RunResult& result,
                                                std::size_t job);

// Compares the run of a variant with the run that is explained.
[[nodiscard]] Trial trial_of(const Variant& variant, const RunResult& result,
                             const RunResult& changed, std::size_t job);

}  // namespace nerve::sim
