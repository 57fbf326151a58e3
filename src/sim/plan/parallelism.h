// Chooses how a training job is split over the GPUs: the fastest by an estimate from the numbers of
// the model, among those that fit into memory. docs/plan.md has the formulas.
#pragma once

#include <optional>

#include "sim/plan/candidate.h"
#include "sim/scenario/job_spec.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim::plan {

struct ParallelismChoice {
  ParallelismSpec split{};
  std::uint32_t micro_batches{};
  double seconds{};  // of a step
};

// For all GPUs of the scenario and `batch` sequences in a step. None: no split fits.
[[nodiscard]] std::optional<ParallelismChoice> choose_parallelism(const Scenario& scenario,
                                                                  const TrainingSpec& training,
                                                                  std::uint64_t batch,
                                                                  double gpu_memory);

// Bytes of a GPU for weights, gradients and the optimizer.
[[nodiscard]] double bytes_of_model(const TrainingSpec& training, const ParallelismSpec& split);

}  // namespace nerve::sim::plan
