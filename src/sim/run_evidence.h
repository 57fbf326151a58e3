// What a run collects about its jobs for the diagnosis (why/).
#pragma once

#include "sim/host/cluster.h"
#include "sim/results/congestion.h"
#include "sim/scenario/scenario.h"
#include "sim/why/evidence.h"
#include "sim/workload/job_context.h"

namespace nerve::sim {

// What to look for during the run.
[[nodiscard]] Congestion::Hints hints_for(const Scenario& scenario);

// Of a job that has not begun: everything but its path.
[[nodiscard]] JobEvidence evidence_of(const JobContext& context, const ClusterShape& shape,
                                      bool on_front_end);

}  // namespace nerve::sim
