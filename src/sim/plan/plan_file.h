// Reads plans from TOML: the tables [plan], [vary] and [limits]; the others are those of a
// scenario. docs/plan.md lists the keys.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/plan/plan_spec.h"
#include "sim/scenario/override.h"
#include "sim/scenario/reference.h"
#include "sim/scenario/scenario_error.h"

namespace nerve::sim::plan {

// Errors are in the order of the file. Keys of scenarios are checked with the first candidate.
[[nodiscard]] Result<PlanSpec, std::vector<ScenarioError>> read_plan(
    std::string_view toml_text, const std::string& file_name,
    std::span<const Override> overrides = {});

// The keys of the three tables.
[[nodiscard]] std::vector<ScenarioKey> plan_keys();

}  // namespace nerve::sim::plan
