#include "sim/workload/training/objections.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "sim/workload/training/cost.h"
#include "sim/workload/training/program.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

using Objection = std::optional<std::string>;

struct Bounded {
  const char* name;
  std::uint64_t value;
  std::uint64_t least;
  std::uint64_t most;
};

Objection out_of_bounds(const TrainingSpec& spec) {
  constexpr std::uint64_t kMillion = 1'000'000;
  const ModelSpec& model = spec.model;
  const ParallelismSpec& by = spec.parallelism;
  const std::array all{
      Bounded{"layers", model.layers, 1, kMillion},
      Bounded{"hidden", model.hidden, 1, 10 * kMillion},
      Bounded{"sequence", model.sequence, 1, 1000 * kMillion},
      Bounded{"bytes_per_value", model.bytes_per_value, 1, 8},
      Bounded{"data", by.data, 1, kMillion},
      Bounded{"tensor", by.tensor, 1, kMillion},
      Bounded{"pipeline", by.pipeline, 1, kMillion},
      Bounded{"expert", by.expert, 1, kMillion},
      Bounded{"micro_batches", spec.micro_batches, 1, kMillion},
      Bounded{"sequences_per_batch", spec.sequences_per_batch, 1, kMillion},
      Bounded{"steps", spec.steps, 1, kMillion},
      Bounded{"bucket_bytes", spec.bucket_bytes, 1, std::uint64_t{1} << 50},
  };
  for (const Bounded& one : all) {
    if (one.value >= one.least && one.value <= one.most) continue;
    return std::string{one.name} + " is " + std::to_string(one.value) + ", expected " +
           std::to_string(one.least) + " to " + std::to_string(one.most);
  }
  if (!(model.parameters >= 1 && model.parameters <= 1e16)) {
    return "parameters is " + number_in_words(model.parameters) + ", expected 1 to 1e16";
  }
  if (!(spec.tflops > 0 && spec.tflops <= 1e9)) {
    return "tflops is " + number_in_words(spec.tflops) + ", expected more than 0 and at most 1e9";
  }
  return std::nullopt;
}

Objection wrong_division(const TrainingSpec& spec, std::uint32_t ranks) {
  const ParallelismSpec& by = spec.parallelism;
  const std::uint64_t product = std::uint64_t{by.data} * by.tensor * by.pipeline;
  if (product != ranks) {
    return "data " + std::to_string(by.data) + " x tensor " + std::to_string(by.tensor) +
           " x pipeline " + std::to_string(by.pipeline) + " = " + std::to_string(product) +
           " ranks, but the job has " + std::to_string(ranks);
  }
  if (by.pipeline > spec.model.layers) {
    return "pipeline is " + std::to_string(by.pipeline) + ", but the model has " +
           std::to_string(spec.model.layers) + " layers";
  }
  if (by.data % by.expert != 0) {
    return "expert is " + std::to_string(by.expert) + ", which does not divide data " +
           std::to_string(by.data);
  }
  return std::nullopt;
}

Objection wrong_experts(const TrainingSpec& spec) {
  const ModelSpec& model = spec.model;
  const std::uint32_t by = spec.parallelism.expert;
  if (model.experts == 0) {
    if (by == 1) return std::nullopt;
    return "expert is " + std::to_string(by) + ", but the model has no experts";
  }
  if (model.experts % by != 0) {
    return "expert is " + std::to_string(by) + ", which does not divide the " +
           std::to_string(model.experts) + " experts";
  }
  if (model.experts_per_token == 0 || model.experts_per_token > model.experts) {
    return "experts_per_token is " + std::to_string(model.experts_per_token) + ", expected 1 to " +
           std::to_string(model.experts);
  }
  return std::nullopt;
}

Objection too_large(const TrainingSpec& spec) {
  constexpr double kMostBytes = 1e15;
  constexpr double kLongest = 1e15;  // picoseconds, of one layer
  constexpr double kMostInstructions = 5e6;
  const RoughCost cost = rough_cost(spec);
  const double bytes =
      std::max({cost.activations, cost.dispatched, cost.dense_gradients, cost.expert_gradients});
  if (bytes > kMostBytes) {
    return "a layer would send " + bytes_in_words(static_cast<std::uint64_t>(bytes)) +
           " at once, the limit is " + bytes_in_words(static_cast<std::uint64_t>(kMostBytes));
  }
  if (cost.forward > kLongest) {
    return "tflops is " + number_in_words(spec.tflops) +
           ": a layer would take more than 1000 seconds";
  }
  if (most_instructions(spec) > kMostInstructions) {
    return std::to_string(spec.micro_batches) + " micro batches of " +
           std::to_string(layers_of_stage(spec, 0)) + " layers and buckets of " +
           bytes_in_words(spec.bucket_bytes) + " are more than a stage's program can hold";
  }
  return std::nullopt;
}

}  // namespace

Objection objection_to(const TrainingSpec& spec, std::uint32_t ranks) {
  if (auto why = out_of_bounds(spec)) return why;
  if (auto why = wrong_division(spec, ranks)) return why;
  if (auto why = wrong_experts(spec)) return why;
  return too_large(spec);
}

}  // namespace nerve::sim
