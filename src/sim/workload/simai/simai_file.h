// Workload files of SimAI (AICB writes them) and of ASTRA-sim 1.0: what each layer computes and
// sends, line by line.
//
//   HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 ... all_gpus: 64
//   2
//   attention  -1  752000 ALLREDUCE 20971520  752000 ALLREDUCE 20971520  752000 NONE 0  100
//   mlp        -1  750000 ALLREDUCE 20971520  750000 ALLREDUCE 20971520  750000 NONE 0  100
//
// The first line has the policy and the parallelism, the second the number of layers. A layer has a
// name, a reserved -1, then time (ns), collective and bytes of the forward pass, of the input
// gradient and of the weight gradient, and the time (ns) that processing a received collective
// takes. docs/workloads.md has the details and what is refused.
//
// The file is untrusted. Errors have the form FILE:LINE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "sim/scenario/job_spec.h"

namespace nerve::sim {

enum class SimaiPolicy : std::uint8_t {
  kTransformer,  // HYBRID_TRANSFORMER, and HYBRID_TRANSFORMER_FWD_IN_BCKWD: with recomputation
  kData,         // DATA: weight gradients are reduced over all ranks
  kModel,        // MODEL: activations and their gradients are exchanged by all ranks
  kInference,    // DISTRIBUTED_INFERENCE: the forward pass of MODEL
  kMicro,        // MICRO: the collectives of the weight gradients, one after the other
};

enum class SimaiGroup : std::uint8_t { kTensor, kData, kExpert, kExpertData };

struct SimaiCollective {
  CollectiveKind kind{};
  SimaiGroup group{};
  std::uint64_t bytes{};

  friend bool operator==(const SimaiCollective&, const SimaiCollective&) = default;
};

struct SimaiPass {
  std::uint64_t compute_ns{};
  std::optional<SimaiCollective> collective;

  friend bool operator==(const SimaiPass&, const SimaiPass&) = default;
};

struct SimaiLayer {
  SimaiPass forward;
  SimaiPass input_gradient;
  SimaiPass weight_gradient;
  std::uint32_t process_ns{};  // after each of its collectives
  bool checkpoint{};           // its input is kept for recomputation
  bool recomputes{};           // before its backward pass, from the checkpoint before it

  friend bool operator==(const SimaiLayer&, const SimaiLayer&) = default;
};

struct SimaiWorkload {
  SimaiPolicy policy{};
  std::uint32_t tensor{1};  // ranks that split a layer
  std::uint32_t expert{1};  // ranks that split the experts
  std::uint32_t ranks{};    // zero: the file does not say
  std::vector<SimaiLayer> layers;
};

// `file` is the name in errors.
[[nodiscard]] Result<SimaiWorkload, std::string> parse_simai(std::string_view text,
                                                             std::string_view file);
[[nodiscard]] Result<SimaiWorkload, std::string> read_simai(const std::string& file);

}  // namespace nerve::sim
