// Keeps a result of bounded size: of very many flows, evenly chosen ones.
#pragma once

#include <cstddef>

#include "sim/results/run_result.h"

namespace nerve::sim {

inline constexpr std::size_t kMostFlows = 100'000;  // of all jobs

// Says in each job how many flows there were; where some had to go, in a remark too. The slowest
// flow of each class of sizes stays, so that what percentiles end in is not lost. Done once, before
// anything is worked out from a result: what is shown, written and hashed is the same.
void thin_flows(RunResult& result, std::size_t most = kMostFlows);

}  // namespace nerve::sim
