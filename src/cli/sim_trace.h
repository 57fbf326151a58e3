// The trace of a simulated run, as a page and as JSON.
#pragma once

#include <string>

#include "sim/run.h"

namespace nerve::cli {

// Writes trace.json and trace.html. False, after an error message, on failure.
[[nodiscard]] bool write_sim_trace(const sim::Scenario& scenario, const sim::RunTrace& trace,
                                   const std::string& folder, bool quiet);

}  // namespace nerve::cli
