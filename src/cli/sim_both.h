// `nerve sim --both`: one scenario with packets and as flows, and the errors of the latter.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::cli {

using RunScenario = std::function<std::optional<sim::RunResult>(const sim::Scenario&)>;

// Writes FOLDER/packet/result.json, FOLDER/flow/result.json and FOLDER/report.html with both.
// Returns the exit code.
[[nodiscard]] int simulate_both(sim::Scenario scenario, const std::string& folder, bool quiet,
                                const RunScenario& run);

}  // namespace nerve::cli
