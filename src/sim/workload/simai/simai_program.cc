#include "sim/workload/simai/simai_program.h"

#include <algorithm>
#include <array>

namespace nerve::sim {
namespace {

constexpr std::size_t kMostSimaiInstructions = 10'000'000;
constexpr std::uint64_t kMostRecomputed = 10'000'000;  // layers
// Of one pass. A straggler takes up to a thousand times as long, which must fit in a Duration.
constexpr std::uint64_t kLongestPass = 3'600'000'000'000'000;  // ps: an hour

constexpr Channel kChannelOfGroup[] = {Channel::kTensor, Channel::kData, Channel::kExpert,
                                       Channel::kExpertData};

class SimaiWriter {
 public:
  SimaiWriter(const SimaiWorkload& workload, const ParallelismSpec& by)
      : layers_{workload.layers},
        policy_{workload.policy},
        members_{by.tensor, by.data, by.expert, by.data / by.expert} {}

  Result<SimaiProgram, std::string> write() {
    if (policy_ == SimaiPolicy::kMicro) {
      for (const SimaiLayer& layer : layers_) exchange(layer.weight_gradient, layer.process_ns);
    } else {
      for (const SimaiLayer& layer : layers_) forward(layer);
      if (policy_ != SimaiPolicy::kInference) backward();
    }
    finish();
    if (too_long_) {
      return Unexpected{
          std::string{"a pass computes for more than an hour, or recomputes too many "
                      "layers"}};
    }
    made_.compute = Duration{static_cast<std::int64_t>(computed_)};
    return std::move(made_);
  }

 private:
  using Kind = Instruction::Kind;

  void compute(std::uint64_t nanoseconds) {
    const std::uint64_t time = nanoseconds * 1000;
    if (time == 0 || too_long_) return;
    computed_ += time;
    Program& program = made_.program;
    if (computed_ > kLongestPass) {
      too_long_ = true;
    } else if (!program.empty() && program.back().kind == Kind::kCompute) {
      program.back().value += time;
    } else {
      push({Kind::kCompute, Channel::kNone, {}, time});
    }
  }
  void push(const Instruction& instruction) {
    too_long_ |= made_.program.size() == kMostSimaiInstructions;
    if (!too_long_) made_.program.push_back(instruction);
  }

  // Whether there is one to wait for: a group of one rank has nothing to send.
  bool start(const std::optional<SimaiCollective>& collective) {
    if (!collective || too_long_) return false;
    const auto group = static_cast<std::size_t>(collective->group);
    if (members_[group] < 2) return false;
    push({Kind::kStart, kChannelOfGroup[group], collective->kind, collective->bytes});
    return true;
  }
  void wait(const std::optional<SimaiCollective>& collective, std::uint32_t process_ns) {
    push({Kind::kWait, kChannelOfGroup[static_cast<std::size_t>(collective->group)], {}, 0});
    compute(process_ns);
  }
  void exchange(const SimaiPass& pass, std::uint32_t process_ns) {
    if (start(pass.collective)) wait(pass.collective, process_ns);
  }
  // Without waiting for it before the end of the pass.
  void start_gradient(const SimaiLayer& layer) {
    if (!start(layer.weight_gradient.collective)) return;
    open_[static_cast<std::size_t>(layer.weight_gradient.collective->group)] = true;
    process_ns_ = std::max(process_ns_, layer.process_ns);
  }

  void forward(const SimaiLayer& layer) {
    compute(layer.forward.compute_ns);
    exchange(layer.forward, layer.process_ns);
  }

  void backward() {
    for (std::size_t at = layers_.size(); at-- > 0;) {
      const SimaiLayer& layer = layers_[at];
      if (layer.recomputes) recompute(at);
      switch (policy_) {
        case SimaiPolicy::kData:
          compute(layer.weight_gradient.compute_ns);
          start_gradient(layer);
          if (at > 0) compute(layer.input_gradient.compute_ns);
          break;
        case SimaiPolicy::kModel:
          backward_of_model(layer, at == 0);
          break;
        default:
          compute(layer.input_gradient.compute_ns);
          exchange(layer.input_gradient, layer.process_ns);
          compute(layer.weight_gradient.compute_ns);
          start_gradient(layer);
      }
    }
  }

  // The input gradient travels during the computation of the weight gradient. The first layer has
  // nobody to send it to.
  void backward_of_model(const SimaiLayer& layer, bool first) {
    compute(layer.input_gradient.compute_ns);
    const bool sent = !first && start(layer.input_gradient.collective);
    compute(layer.weight_gradient.compute_ns);
    if (sent) wait(layer.input_gradient.collective, layer.process_ns);
  }

  // Repeats the forward pass from the last checkpoint.
  void recompute(std::size_t until) {
    std::size_t from = until;
    while (from-- > 0 && !layers_[from].checkpoint) {
    }
    recomputed_ += until - from;
    too_long_ |= recomputed_ > kMostRecomputed;
    for (; from < until && !too_long_; ++from) forward(layers_[from]);
  }

  void finish() {
    for (std::size_t group = 0; group < open_.size(); ++group) {
      if (open_[group]) push({Kind::kWait, kChannelOfGroup[group], {}, 0});
    }
    compute(process_ns_);
  }

  const std::vector<SimaiLayer>& layers_;
  SimaiPolicy policy_;
  std::array<std::uint32_t, 4> members_;  // per group
  std::array<bool, 4> open_{};            // groups with gradients to wait for
  std::uint32_t process_ns_{};            // the longest of those
  std::uint64_t computed_{};              // ps
  std::uint64_t recomputed_{};            // layers
  bool too_long_{};
  SimaiProgram made_;
};

}  // namespace

Result<ParallelismSpec, std::string> parallelism_of(const SimaiWorkload& workload,
                                                    std::uint32_t ranks) {
  const auto text = [](std::uint64_t number) { return std::to_string(number); };
  if (workload.ranks != 0 && workload.ranks != ranks) {
    return Unexpected{"all_gpus is " + text(workload.ranks) + ", but the job has " + text(ranks) +
                      " ranks"};
  }
  switch (workload.policy) {
    case SimaiPolicy::kModel:
    case SimaiPolicy::kInference:
      return ParallelismSpec{.data = 1, .tensor = ranks};
    case SimaiPolicy::kData:
    case SimaiPolicy::kMicro:
      return ParallelismSpec{.data = ranks};
    case SimaiPolicy::kTransformer:
      break;
  }
  if (ranks % workload.tensor != 0) {
    return Unexpected{"model_parallel_NPU_group is " + text(workload.tensor) +
                      ", which does not divide the " + text(ranks) + " ranks of the job"};
  }
  const std::uint32_t data = ranks / workload.tensor;
  if (data % workload.expert != 0) {
    return Unexpected{"ep is " + text(workload.expert) + ", which does not divide the " +
                      text(data) + " data-parallel ranks of the job"};
  }
  return ParallelismSpec{.data = data, .tensor = workload.tensor, .expert = workload.expert};
}

Result<SimaiProgram, std::string> program_of(const SimaiWorkload& workload,
                                             const ParallelismSpec& parallelism) {
  return SimaiWriter{workload, parallelism}.write();
}

}  // namespace nerve::sim
