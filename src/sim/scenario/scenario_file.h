// Reads scenarios from TOML. keys.h defines the keys, docs/scenarios.md lists them.
//
// Only the text is read. Files that a scenario names (a topology, a list of flows) are not opened;
// their names get the folder of the scenario. All numbers in the result are in range and
// consistent. A scenario that cannot be built is rejected here, with the position of the error and
// how to fix it.
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

// Errors are in the order of the file.
[[nodiscard]] Result<Scenario, std::vector<ScenarioError>> read_scenario(
    std::string_view toml_text, const std::string& file_name,
    std::span<const Override> overrides = {});

// The same from a parsed file, whose positions errors have.
[[nodiscard]] Result<Scenario, std::vector<ScenarioError>> read_scenario(
    scenario_file::Node document, const std::string& file_name,
    std::span<const Override> overrides = {});

}  // namespace nerve::sim
