#include "sim/workload/training/program.h"

#include <algorithm>

namespace nerve::sim {
namespace {

using Kind = Instruction::Kind;

class Writer {
 public:
  Writer(const TrainingSpec& spec, std::uint32_t stage)
      : spec_{spec},
        stage_{stage},
        layers_{layers_of_stage(spec, stage)},
        cost_{cost_of_layer(spec)} {}

  Program write() {
    const std::uint32_t batches = spec_.micro_batches;
    const std::uint32_t ahead = std::min(batches, spec_.parallelism.pipeline - 1 - stage_);
    for (std::uint32_t i = 0; i < ahead; ++i) forward();
    for (std::uint32_t i = ahead; i < batches; ++i) {
      forward();
      backward(i - ahead + 1 == batches);
    }
    for (std::uint32_t i = batches - ahead; i < batches; ++i) backward(i + 1 == batches);
    reduce_gradients();
    return std::move(program_);
  }

 private:
  // The gradients of one kind: total, and those whose reduction has started.
  struct Gradients {
    Channel channel{};
    std::uint32_t members{};
    std::uint64_t waiting{};
    std::vector<std::uint64_t> buckets;
  };

  [[nodiscard]] bool last_stage() const { return stage_ + 1 == spec_.parallelism.pipeline; }

  void compute(Duration time) {
    const auto value = static_cast<std::uint64_t>(time.count());
    if (value == 0) return;
    if (!program_.empty() && program_.back().kind == Kind::kCompute) {
      program_.back().value += value;
    } else {
      program_.push_back({Kind::kCompute, Channel::kNone, {}, value});
    }
  }
  void start(Channel channel, CollectiveKind collective, std::uint64_t bytes) {
    program_.push_back({Kind::kStart, channel, collective, bytes});
  }
  void wait(Channel channel) { program_.push_back({Kind::kWait, channel, {}, 0}); }
  void send(Channel channel) { start(channel, CollectiveKind::kBroadcast, cost_.activations); }
  void receive(Channel channel) {
    send(channel);
    wait(channel);
  }

  void reduce_activations() {
    if (spec_.parallelism.tensor == 1) return;
    start(Channel::kTensor, CollectiveKind::kAllReduce, cost_.activations);
    wait(Channel::kTensor);
  }
  void exchange_tokens() {
    if (spec_.parallelism.expert == 1) return;
    start(Channel::kExpert, CollectiveKind::kAllToAll, cost_.dispatched);
    wait(Channel::kExpert);
  }

  void forward() {
    if (stage_ > 0) receive(Channel::kActivationsIn);
    for (std::uint32_t layer = 0; layer < layers_; ++layer) {
      compute(cost_.attention);
      reduce_activations();
      exchange_tokens();
      compute(cost_.feed_forward);
      exchange_tokens();
      reduce_activations();
    }
    if (!last_stage()) send(Channel::kActivationsOut);
  }

  void backward(bool last_batch) {
    if (!last_stage()) receive(Channel::kGradientsIn);
    for (std::uint32_t layer = 0; layer < layers_; ++layer) {
      exchange_tokens();
      compute(cost_.feed_forward * 2);
      exchange_tokens();
      reduce_activations();
      compute(cost_.attention * 2);
      reduce_activations();
      if (last_batch) gradients_ready();
    }
    if (stage_ > 0) send(Channel::kGradientsOut);
  }

  void gradients_ready() {
    dense_.waiting += cost_.dense_gradients;
    experts_.waiting += cost_.expert_gradients;
    if (!spec_.overlap) return;
    fill_buckets(dense_, false);
    fill_buckets(experts_, false);
  }

  void fill_buckets(Gradients& gradients, bool all) {
    if (gradients.members == 1) return;
    while (gradients.waiting >= (all ? 1 : spec_.bucket_bytes)) {
      const std::uint64_t bytes = std::min(gradients.waiting, spec_.bucket_bytes);
      gradients.waiting -= bytes;
      gradients.buckets.push_back(bytes);
      start(gradients.channel,
            spec_.shard_optimizer ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
            bytes);
    }
  }

  void reduce_gradients() {
    fill_buckets(dense_, true);
    fill_buckets(experts_, true);
    for (const Gradients* const gradients : {&dense_, &experts_}) {
      if (!gradients->buckets.empty()) wait(gradients->channel);
    }
    if (!spec_.shard_optimizer) return;
    // Each rank has updated its shard of the parameters and gathers the others.
    for (const Gradients* const gradients : {&dense_, &experts_}) {
      for (const std::uint64_t bytes : gradients->buckets) {
        start(gradients->channel, CollectiveKind::kAllGather, bytes);
      }
    }
    for (const Gradients* const gradients : {&dense_, &experts_}) {
      if (!gradients->buckets.empty()) wait(gradients->channel);
    }
  }

  const TrainingSpec& spec_;
  std::uint32_t stage_;
  std::uint32_t layers_;
  LayerCost cost_;
  Program program_;
  Gradients dense_{Channel::kData, spec_.parallelism.data, 0, {}};
  Gradients experts_{
      Channel::kExpertData, spec_.parallelism.data / spec_.parallelism.expert, 0, {}};
};

}  // namespace

Program program_of_stage(const TrainingSpec& spec, std::uint32_t stage) {
  return Writer{spec, stage}.write();
}

double most_instructions(const TrainingSpec& spec) {
  constexpr double kOfLayer = 20;  // forward and backward: compute, start, wait
  constexpr double kOfBatch = 6;
  const RoughCost cost = rough_cost(spec);
  const double layers = layers_of_stage(spec, 0);
  const double gradients = layers * (cost.dense_gradients + cost.expert_gradients);
  return spec.micro_batches * (layers * kOfLayer + kOfBatch) +
         2 * (gradients / static_cast<double>(spec.bucket_bytes) + 2) + 8;
}

}  // namespace nerve::sim
