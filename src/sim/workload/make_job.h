// Creates the jobs of a scenario and places their ranks on GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/scenario/job_spec.h"
#include "sim/workload/job.h"
#include "sim/workload/job_context.h"

namespace nerve::sim {

// The error has the job, the value and what was expected: "job train: data 4 x tensor 8 x pipeline
// 2 = 64 ranks, but the job has 48".
[[nodiscard]] Result<std::unique_ptr<Job>, std::string> make_job(const JobSpec& spec,
                                                                 JobContext context);

// The GPU of each rank. Empty if the cluster has too few.
[[nodiscard]] std::vector<std::uint32_t> place_ranks(const JobSpec& spec, std::uint32_t servers,
                                                     std::uint32_t gpus_per_server,
                                                     std::uint64_t seed);

}  // namespace nerve::sim
