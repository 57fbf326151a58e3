// Scenarios from TOML. docs/scenarios.md lists every key; keys.h is where they are.
//
// Nothing is read but the text: files that a scenario names (a topology, a list of flows) are only
// named, with the folder of the scenario before them. Numbers that come out are within their
// ranges, and belong together: what cannot be built is refused here, with its place and a way out.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/override.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_error.h"

namespace nerve::sim {

// All that is wrong, in the order of the file.
[[nodiscard]] Result<Scenario, std::vector<ScenarioError>> read_scenario(
    std::string_view toml_text, const std::string& file_name,
    std::span<const Override> overrides = {});

}  // namespace nerve::sim
