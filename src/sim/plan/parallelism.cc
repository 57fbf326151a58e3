#include "sim/plan/parallelism.h"

#include <algorithm>

namespace nerve::sim::plan {
namespace {

// Weights and gradients in the training format; master weights and two moments in fp32.
constexpr double kOptimizerBytes = 12;
constexpr double kShareForModel = 0.8;  // of the memory; the rest is for activations

double seconds_of_step(const Scenario& scenario, const TrainingSpec& job,
                       const ParallelismSpec& split, std::uint32_t micro_batches) {
  const ModelSpec& model = job.model;
  const double tokens = static_cast<double>(job.sequences_per_batch) * model.sequence;
  const double dense_share =
      model.experts > 0 ? static_cast<double>(model.experts_per_token) / model.experts : 1;
  const auto layers_of_stage = (model.layers + split.pipeline - 1) / split.pipeline;
  const auto layers = static_cast<double>(layers_of_stage);
  const double per_layer = model.parameters / model.layers;
  const double values = tokens * model.hidden * model.bytes_per_value;
  const double compute =
      6 * per_layer * dense_share * tokens / split.tensor / (job.tflops * 1e12) * layers;
  const double inside = static_cast<double>(scenario.servers.interconnect.bits_per_second()) / 8;
  const double reduces = 4 * layers * 2 * (split.tensor - 1) / split.tensor * values / inside;
  const double slot = compute + reduces;
  const double slots = micro_batches + split.pipeline - 1;
  const double nic = static_cast<double>(scenario.back_end.nic_rate.bits_per_second()) / 8 *
                     std::min(1.0, static_cast<double>(scenario.servers.nics) /
                                       static_cast<double>(scenario.servers.gpus));
  const double gradients = layers * per_layer * model.bytes_per_value / split.tensor;
  const double sends = split.pipeline > 1 ? 2 * (split.pipeline - 1) * values / nic : 0;
  // Gradients are reduced within servers, then along the rails, each a share of them.
  const auto replicas_of_server = scenario.servers.gpus / split.tensor;
  const double in_server = std::min<double>(split.data, replicas_of_server);
  const double servers = split.data / in_server;
  const double data = 2 * (in_server - 1) / in_server * gradients / inside +
                      2 * (servers - 1) / servers * gradients / in_server / nic;
  const double hidden = job.overlap ? slot * 2 / 3 : 0;  // behind the last backward pass
  return slots * slot + sends + std::max(0.0, data - hidden);
}

}  // namespace

double bytes_of_model(const TrainingSpec& training, const ParallelismSpec& split) {
  const double own = training.model.parameters / split.tensor / split.pipeline / split.expert;
  const double optimizer =
      training.shard_optimizer ? kOptimizerBytes / split.data : kOptimizerBytes;
  return own * (2.0 * training.model.bytes_per_value + optimizer);
}

std::optional<ParallelismChoice> choose_parallelism(const Scenario& scenario,
                                                    const TrainingSpec& training,
                                                    std::uint64_t batch, double gpu_memory) {
  const std::uint64_t gpus = std::uint64_t{scenario.servers.count} * scenario.servers.gpus;
  std::optional<ParallelismChoice> best;
  for (std::uint32_t tensor = 1; tensor <= scenario.servers.gpus; tensor *= 2) {
    for (std::uint32_t pipeline = 1; pipeline <= training.model.layers; pipeline *= 2) {
      ParallelismSpec split = training.parallelism;
      split.tensor = tensor;
      split.pipeline = pipeline;
      const std::uint64_t rest = std::uint64_t{tensor} * pipeline;
      if (scenario.servers.gpus % tensor != 0 || gpus % rest != 0) continue;
      split.data = static_cast<std::uint32_t>(gpus / rest);
      if (split.data % split.expert != 0) continue;
      const std::uint64_t at_once = std::uint64_t{split.data} * training.sequences_per_batch;
      if (batch % at_once != 0 || batch / at_once > 65'536) continue;
      if (bytes_of_model(training, split) > gpu_memory * kShareForModel) continue;
      const auto micro_batches = static_cast<std::uint32_t>(batch / at_once);
      const double seconds = seconds_of_step(scenario, training, split, micro_batches);
      if (!best || seconds < best->seconds) best = {split, micro_batches, seconds};
    }
  }
  return best;
}

}  // namespace nerve::sim::plan
