#include "sim/workload/simai/simai_file.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "sim/workload/simai/simai_words.h"
#include "sim/workload/whole_file.h"

namespace nerve::sim {
namespace {

constexpr std::size_t kLargestSimaiFile = 256'000'000;
constexpr std::uint64_t kMostLayers = 1'000'000;
constexpr std::uint64_t kMostRanksInFile = 1U << 20U;
constexpr std::uint64_t kLongestCompute = 1'000'000'000'000;  // ns
constexpr std::uint64_t kLongestProcess = 1'000'000'000;      // ns

struct PolicyName {
  std::string_view name;
  SimaiPolicy policy;
};
constexpr PolicyName kPolicyNames[] = {
    {"HYBRID_TRANSFORMER", SimaiPolicy::kTransformer},
    {"HYBRID_TRANSFORMER_FWD_IN_BCKWD", SimaiPolicy::kTransformer},
    {"DATA", SimaiPolicy::kData},
    {"MODEL", SimaiPolicy::kModel},
    {"DISTRIBUTED_INFERENCE", SimaiPolicy::kInference},
    {"MICRO", SimaiPolicy::kMicro},
};
constexpr std::string_view kOtherPolicies[] = {"HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA",
                                               "HYBRID_CUSTOMIZED", "HYBRID_DLRM",
                                               "HYBRID_DLRM_ENHANCED"};

// Recomputation, by layer.
struct Recomputation {
  std::vector<std::uint64_t> checkpoints;
  std::vector<std::uint64_t> initiates;
};

class SimaiReader {
 public:
  SimaiReader(std::string_view text, std::string_view file) : words_{text, file} {}

  Result<SimaiWorkload, std::string> read() {
    if (!read_all()) return Unexpected{words_.error()};
    return std::move(workload_);
  }

 private:
  static constexpr std::size_t kWordsOfLayer = 12;

  bool read_all() {
    if (!words_.next_line()) {
      return words_.fail("the file is empty, expected the policy and the parallelism");
    }
    first_line_ = words_.line();
    if (!read_policy() || !read_parallelism()) return false;
    if (!words_.next_line()) return words_.fail("the number of layers is missing");
    std::uint64_t count = 0;
    if (words_.size() != 1) {
      return words_.fail(std::to_string(words_.size()) +
                         " words, expected the number of layers alone on the second line");
    }
    if (!words_.number(0, "number of layers", 1, kMostLayers, count)) return false;
    while (words_.next_line()) {
      if (workload_.layers.size() == count) {
        return words_.fail("more layers than the " + std::to_string(count) + " of the second line");
      }
      if (!read_layer()) return false;
    }
    if (words_.failed()) return false;
    if (workload_.layers.size() < count) {
      return words_.fail(std::to_string(workload_.layers.size()) +
                         " layers, but the second line announces " + std::to_string(count));
    }
    return mark_recomputation();
  }

  bool read_policy() {
    const std::string_view word = words_[0];
    const auto* const known = std::ranges::find(kPolicyNames, word, &PolicyName::name);
    if (known != std::end(kPolicyNames)) {
      workload_.policy = known->policy;
      recomputes_ = word == "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
      return true;
    }
    if (std::ranges::find(kOtherPolicies, word) != std::end(kOtherPolicies)) {
      return words_.fail("the policy " + std::string{word} +
                         " is not supported; its groups depend on ASTRA-sim's dimensions");
    }
    return words_.wrong("the policy", word,
                        "HYBRID_TRANSFORMER_FWD_IN_BCKWD, HYBRID_TRANSFORMER, DATA, MODEL, "
                        "DISTRIBUTED_INFERENCE or MICRO");
  }

  // `key: value` for each key of the first line.
  bool read_parallelism() {
    const bool groups = workload_.policy == SimaiPolicy::kTransformer;
    std::size_t at = 1;
    while (at < words_.size()) {
      std::string_view key = words_[at++];
      if (key.ends_with(':')) key.remove_suffix(1);
      if (!groups) {
        return words_.fail("unknown word " + SimaiWords::printable(key) +
                           "; this policy has no parallelism of its own");
      }
      if (std::ranges::find(seen_, key) != seen_.end()) {
        return words_.fail(SimaiWords::printable(key) + " is there twice");
      }
      seen_.push_back(key);
      if (!read_key(key, at)) return false;
    }
    if (groups && std::ranges::find(seen_, "model_parallel_NPU_group") == seen_.end()) {
      return words_.fail("model_parallel_NPU_group is missing");
    }
    return true;
  }

  bool read_key(std::string_view key, std::size_t& at) {
    std::uint64_t value = 0;
    if (key == "checkpoints" || key == "checkpoint_initiates") {
      return read_list(
          key, at, key == "checkpoints" ? recomputation_.checkpoints : recomputation_.initiates);
    }
    if (key == "pp_comm") return read_pipeline_bytes(at++);
    constexpr std::array kKeys{"model_parallel_NPU_group",
                               "ep",
                               "expert_parallel_npu_group",
                               "pp",
                               "vpp",
                               "ga",
                               "all_gpus"};
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      return words_.fail("unknown word " + SimaiWords::printable(key) +
                         "; expected model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, "
                         "checkpoints, checkpoint_initiates or pp_comm");
    }
    if (!words_.number(at++, key, 1, kMostRanksInFile, value)) return false;
    const auto count = static_cast<std::uint32_t>(value);
    if (key == "model_parallel_NPU_group") workload_.tensor = count;
    if (key == "ep" || key == "expert_parallel_npu_group") {
      workload_.expert = count;
      experts_ = true;
    }
    if (key == "all_gpus") workload_.ranks = count;
    if (key == "pp" && count != 1) {
      return words_.fail("pp is " + std::to_string(count) +
                         ": the file has the layers of one stage and not which of them are one "
                         "micro-batch, so pipelines are not supported; use pp: 1, or kind = "
                         "\"training\"");
    }
    return true;
  }

  // Bytes between pipeline stages; AICB writes a decimal fraction.
  bool read_pipeline_bytes(std::size_t at) {
    if (at >= words_.size()) return words_.fail("pp_comm is missing");
    const std::string_view word = words_[at];
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size() || value != 0) {
      return words_.wrong("pp_comm", word, "0: pipelines are not supported");
    }
    return true;
  }

  // A count, then as many numbers of layers.
  bool read_list(std::string_view key, std::size_t& at, std::vector<std::uint64_t>& list) {
    std::uint64_t count = 0;
    if (!words_.number(at++, key, 0, kMostLayers, count)) return false;
    if (count > words_.size() - at) {
      return words_.fail(std::string{key} + " announces " + std::to_string(count) +
                         " layers, but " + std::to_string(words_.size() - at) + " words follow");
    }
    if (count > 0 && !recomputes_) {
      return words_.fail(std::string{key} +
                         ": only HYBRID_TRANSFORMER_FWD_IN_BCKWD recomputes layers");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t layer = 0;
      if (!words_.number(at++, key, 0, kMostLayers - 1, layer)) return false;
      list.push_back(layer);
    }
    return true;
  }

  bool read_layer() {
    if (words_.size() != kWordsOfLayer) {
      return words_.fail(std::to_string(words_.size()) +
                         " words, expected 12: name, -1, then time, collective and bytes of the "
                         "forward pass, of the input gradient and of the weight gradient, and the "
                         "process time");
    }
    if (words_[1] != "-1") {
      return words_.wrong("dependency", words_[1], "-1: layers run in their order");
    }
    SimaiLayer layer;
    std::uint64_t process = 0;
    if (!read_pass(2, "forward", SimaiGroup::kTensor, layer.forward) ||
        !read_pass(5, "input gradient", SimaiGroup::kTensor, layer.input_gradient) ||
        !read_pass(8, "weight gradient", SimaiGroup::kData, layer.weight_gradient) ||
        !words_.number(11, "process time", 0, kLongestProcess, process)) {
      return false;
    }
    layer.process_ns = static_cast<std::uint32_t>(process);
    if (!fits_policy(layer)) return false;
    workload_.layers.push_back(layer);
    return true;
  }

  bool read_pass(std::size_t at, const std::string& name, SimaiGroup plain, SimaiPass& pass) {
    return words_.number(at, name + " time", 0, kLongestCompute, pass.compute_ns) &&
           read_simai_collective(words_, at + 1, name, {plain, experts_}, pass.collective);
  }

  // A policy that does not run a collective cannot have one.
  bool fits_policy(const SimaiLayer& layer) {
    const SimaiPolicy policy = workload_.policy;
    if (policy == SimaiPolicy::kTransformer) return true;
    const bool weights = policy == SimaiPolicy::kData || policy == SimaiPolicy::kMicro;
    const bool forward_only = policy == SimaiPolicy::kInference;
    if (weights && (layer.forward.collective || layer.input_gradient.collective)) {
      return words_.fail(
          "a collective of activations, but with this policy only weight gradients "
          "have one");
    }
    if (!weights && layer.weight_gradient.collective) {
      return words_.fail("a collective of the weight gradient, but this policy has none");
    }
    if (forward_only && layer.input_gradient.collective) {
      return words_.fail(
          "a collective of the input gradient, but this policy has no backward pass");
    }
    return true;
  }

  // Marks the layers of the recomputation, which the first line names before they are known.
  bool mark_recomputation() {
    auto& layers = workload_.layers;
    for (const std::uint64_t layer : recomputation_.checkpoints) {
      if (layer >= layers.size()) return no_such_layer("checkpoints", layer);
      layers[layer].checkpoint = true;
    }
    const auto first = static_cast<std::uint64_t>(
        std::ranges::find(layers, true, &SimaiLayer::checkpoint) - layers.begin());
    for (const std::uint64_t layer : recomputation_.initiates) {
      if (layer >= layers.size()) return no_such_layer("checkpoint_initiates", layer);
      if (layer <= first) {
        return words_.fail_at(first_line_, "checkpoint_initiates has layer " +
                                               std::to_string(layer) +
                                               ", but no checkpoint is before it");
      }
      layers[layer].recomputes = true;
    }
    return true;
  }

  bool no_such_layer(std::string_view key, std::uint64_t layer) {
    return words_.fail_at(
        first_line_, std::string{key} + " has layer " + std::to_string(layer) + ", but there are " +
                         std::to_string(workload_.layers.size()) + ", counted from 0");
  }

  SimaiWords words_;
  std::uint64_t first_line_{};
  SimaiWorkload workload_;
  Recomputation recomputation_;
  std::vector<std::string_view> seen_;
  bool recomputes_{};
  bool experts_{};
};

}  // namespace

Result<SimaiWorkload, std::string> parse_simai(std::string_view text, std::string_view file) {
  return SimaiReader{text, file}.read();
}

Result<SimaiWorkload, std::string> read_simai(const std::string& file) {
  const auto text = read_whole_file(file, kLargestSimaiFile);
  if (!text) return Unexpected{text.error()};
  return parse_simai(*text, file);
}

}  // namespace nerve::sim
