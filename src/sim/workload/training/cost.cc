#include "sim/workload/training/cost.h"

#include <algorithm>
#include <cmath>

namespace nerve::sim {
namespace {

// Parameters of one layer. Attention has 4 h^2; in an MoE model the rest belongs to the experts.
struct Parameters {
  double dense{};
  double experts{};
};

Parameters parameters_of_layer(const ModelSpec& model) {
  const double all = model.parameters / model.layers;
  if (model.experts == 0) return {all, 0};
  const double attention = std::min(4.0 * model.hidden * model.hidden, all);
  return {attention, all - attention};
}

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::llround(value)); }

}  // namespace

RoughCost rough_cost(const TrainingSpec& spec) {
  const ModelSpec& model = spec.model;
  const ParallelismSpec& by = spec.parallelism;
  const Parameters layer = parameters_of_layer(model);
  const double tokens = static_cast<double>(spec.sequences_per_batch) * model.sequence;
  const double used =
      model.experts == 0 ? 0 : static_cast<double>(model.experts_per_token) / model.experts;
  const double operations = 2 * (layer.dense + layer.experts * used) * tokens;
  RoughCost cost;
  cost.forward = operations / by.tensor / spec.tflops;  // 10^12 per second is one per picosecond
  cost.activations = tokens * model.hidden * model.bytes_per_value;
  if (model.experts > 0) cost.dispatched = cost.activations * model.experts_per_token;
  cost.dense_gradients = layer.dense * model.bytes_per_value / by.tensor;
  cost.expert_gradients = layer.experts * model.bytes_per_value / by.tensor / by.expert;
  return cost;
}

LayerCost cost_of_layer(const TrainingSpec& spec) {
  const RoughCost rough = rough_cost(spec);
  const auto forward = static_cast<std::int64_t>(whole(rough.forward));
  LayerCost cost;
  cost.attention = Duration{forward / 3};  // 4 h^2 of the 12 h^2 of a standard layer
  cost.feed_forward = Duration{forward} - cost.attention;
  cost.activations = whole(rough.activations);
  cost.dispatched = whole(rough.dispatched);
  cost.dense_gradients = whole(rough.dense_gradients);
  cost.expert_gradients = whole(rough.expert_gradients);
  return cost;
}

}  // namespace nerve::sim
