// The instructions of a rank in one pass of a SimAI workload; the same for all ranks.
#pragma once

#include <string>

#include "base/result.h"
#include "sim/workload/simai/simai_file.h"
#include "sim/workload/training/program.h"

namespace nerve::sim {

// How many ranks each group has in a job of this size. The error is the part after FILE:1.
[[nodiscard]] Result<ParallelismSpec, std::string> parallelism_of(const SimaiWorkload& workload,
                                                                  std::uint32_t ranks);

struct SimaiProgram {
  Program program;
  Duration compute{};  // of the whole pass
};
// An error if the pass is longer than a simulation can run.
[[nodiscard]] Result<SimaiProgram, std::string> program_of(const SimaiWorkload& workload,
                                                           const ParallelismSpec& parallelism);

}  // namespace nerve::sim
