// The cost of a model's layer for one rank: compute time and bytes to send, from the numbers of the
// model. docs/workloads.md has the formulas and their limits.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "sim/scenario/job_spec.h"

namespace nerve::sim {

struct LayerCost {
  Duration attention{};              // forward, per micro-batch; backward takes twice as long
  Duration feed_forward{};           // likewise; of the experts in an MoE layer
  std::uint64_t activations{};       // bytes per micro-batch: hidden values of all its tokens
  std::uint64_t dispatched{};        // bytes that a rank sends to experts
  std::uint64_t dense_gradients{};   // bytes per rank, the same on all data-parallel ranks
  std::uint64_t expert_gradients{};  // bytes per rank, the same on ranks with the same experts

  [[nodiscard]] Duration forward() const { return attention + feed_forward; }
  [[nodiscard]] Duration forward_and_backward() const { return forward() * 3; }
};

// The spec must have passed objection_to (objections.h).
[[nodiscard]] LayerCost cost_of_layer(const TrainingSpec& spec);

// In picoseconds and bytes as doubles, to check that they fit in integers.
struct RoughCost {
  double forward{};
  double activations{};
  double dispatched{};
  double dense_gradients{};
  double expert_gradients{};
};
[[nodiscard]] RoughCost rough_cost(const TrainingSpec& spec);

// If the layers do not divide evenly, earlier stages have one more.
[[nodiscard]] inline std::uint32_t layers_of_stage(const TrainingSpec& spec, std::uint32_t stage) {
  const std::uint32_t stages = spec.parallelism.pipeline;
  return spec.model.layers / stages + (stage < spec.model.layers % stages ? 1 : 0);
}

}  // namespace nerve::sim
