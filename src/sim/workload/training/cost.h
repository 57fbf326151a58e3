// What a layer of a model costs one rank: time to compute, bytes to send. From the model's
// numbers alone; docs/workloads.md gives the formulas and what they leave out.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/scenario/job_spec.h"

namespace nerve::sim {

struct LayerCost {
  Duration attention{};              // forward, of one micro batch; backward takes twice as long
  Duration feed_forward{};           // likewise: the experts', where there are any
  std::uint64_t activations{};       // bytes of a micro batch: hidden values of all its tokens
  std::uint64_t dispatched{};        // bytes that a rank gives to experts
  std::uint64_t dense_gradients{};   // bytes of a rank, the same on all data-parallel ranks
  std::uint64_t expert_gradients{};  // bytes of a rank, the same on those with its experts

  [[nodiscard]] Duration forward() const { return attention + feed_forward; }
  [[nodiscard]] Duration forward_and_backward() const { return forward() * 3; }
};

// Of what objection_to (objections.h) has let pass.
[[nodiscard]] LayerCost cost_of_layer(const TrainingSpec& spec);

// In picoseconds and bytes, before they are made whole: for checking that they can be.
struct RoughCost {
  double forward{};
  double activations{};
  double dispatched{};
  double dense_gradients{};
  double expert_gradients{};
};
[[nodiscard]] RoughCost rough_cost(const TrainingSpec& spec);

// Earlier stages have one more where the layers do not divide evenly.
[[nodiscard]] inline std::uint32_t layers_of_stage(const TrainingSpec& spec, std::uint32_t stage) {
  const std::uint32_t stages = spec.parallelism.pipeline;
  return spec.model.layers / stages + (stage < spec.model.layers % stages ? 1 : 0);
}

}  // namespace nerve::sim
