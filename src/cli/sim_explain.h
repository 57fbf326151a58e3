// `nerve sim --explain`: the runs that show what the time above the bound went to.
#pragma once

#include <string>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/scenario/override.h"
#include "sim/scenario/scenario.h"

namespace nerve::cli {

struct ExplainOptions {
  std::string text;  // of the scenario's file
  std::string file;  // its name
  std::vector<sim::Override> overrides;
  std::string folder;   // for results: FOLDER/trials/<number>/result.json
  std::size_t cores{};  // runs at once; zero: all
  bool anyway{};
  bool quiet{};
};

// Runs what the diagnosis of `result` suggests, and adds its trials. A trial that cannot run has an
// error. False if Ctrl-C ended it; the trials are then those that were done.
[[nodiscard]] bool add_trials(const sim::Scenario& scenario, const ExplainOptions& options,
                              sim::RunResult& result);

}  // namespace nerve::cli
