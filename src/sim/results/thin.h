// Limits the size of a result: keeps an even selection of the flows if there are very many.
#pragma once

#include <cstddef>

#include "sim/results/run_result.h"

namespace nerve::sim {

inline constexpr std::size_t kMostFlows = 100'000;  // of all jobs

// Sets the flow count of each job, and adds a remark if flows were removed. The slowest flow of
// each size class is kept, so that the highest percentiles remain. Must run once, before anything
// is derived from a result, so that the summary, the file and the hash agree.
void thin_flows(RunResult& result, std::size_t most = kMostFlows);

}  // namespace nerve::sim
