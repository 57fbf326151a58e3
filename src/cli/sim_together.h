// `mpirun nerve sim`: the ranks run one scenario together; rank zero prints and writes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/ranks.h"
#include "sim/results/run_result.h"
#include "sim/run.h"
#include "sim/scenario/override.h"

namespace nerve::cli {

struct Together {
  std::string scenario;  // file
  std::vector<sim::Override> overrides;
  std::string out;  // folder; empty: by the name of the scenario
  std::uint32_t cores{1};
  bool anyway{};
  sim::RunOptions options;  // of rank zero
  std::function<int(const std::string& folder, const sim::RunResult& result)> show;
};

[[nodiscard]] int simulate_together(sim::Ranks& ranks, Together what);

}  // namespace nerve::cli
