// The jobs of a scenario: what they send, from where to where, and when.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

// --- flows: messages between pairs of ranks -----------------------------------------------------

enum class FlowPattern : std::uint8_t {
  kPermutation,  // each rank sends to one other, each receives from one; by the seed
  kShift,        // rank r sends to rank r + `shift`
  kIncast,       // all ranks send to rank 0
  kAllToAll,     // each rank sends one message to every other, all at once
  kRandom,       // random arrivals at `load` of the NIC rate, mean size `bytes`
  kList,         // from a file: src dst priority port bytes start
  kCheckpoint,   // each rank writes to a storage server, round-robin
  kKvCache,      // prefill ranks (the first half) to decode ranks, random arrivals
};

// Which flows share the QPs between two ranks.
enum class FlowQps : std::uint8_t {
  kPerPair,  // all of them: a flow waits for earlier ones and inherits their rate
  kPerFlow,  // none: a flow starts as on a QP that was just connected
};

struct FlowsSpec {
  FlowPattern pattern{FlowPattern::kPermutation};
  std::uint64_t bytes{};     // of each flow; for kRandom the mean
  std::uint32_t shift{1};    // kShift
  std::uint32_t repeat{1};   // per rank, one after the other
  double load{0.5};          // kRandom, kKvCache: share of the NIC rate
  std::uint32_t requests{};  // kRandom, kKvCache: total
  std::string file{};        // kList
  FlowQps qps{};             // kRandom, kList, kKvCache
};

// --- collectives ---------------------------------------------------------------------------------

enum class CollectiveKind : std::uint8_t {
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,  // MoE dispatch and combine are two of these
};

enum class CollectiveAlgorithm : std::uint8_t {
  kAuto,  // hierarchical when a server has several ranks; ring otherwise
  kRing,
  kTree,
  kHalvingDoubling,
  kHierarchical,  // within servers, then along each rail, then within servers
  kDirect,        // each rank to every other: all-to-all
};

struct CollectiveSpec {
  CollectiveKind kind{CollectiveKind::kAllReduce};
  CollectiveAlgorithm algorithm{CollectiveAlgorithm::kAuto};
  std::uint64_t bytes{};  // of each rank's buffer
  std::uint32_t iterations{1};
  std::uint32_t chunks{1};  // pieces of a buffer, to overlap steps (tree, broadcast)
};

// --- training -----------------------------------------------------------------------------------

struct ModelSpec {
  double parameters{};  // total
  std::uint32_t layers{};
  std::uint32_t hidden{};
  std::uint32_t sequence{2048};
  std::uint32_t bytes_per_value{2};  // precision of gradients and activations
  std::uint32_t experts{};           // per MoE layer; zero: dense
  std::uint32_t experts_per_token{2};
};

struct ParallelismSpec {
  std::uint32_t data{1};
  std::uint32_t tensor{1};
  std::uint32_t pipeline{1};
  std::uint32_t expert{1};  // ranks that split the experts; divides `data`
};

struct TrainingSpec {
  ModelSpec model{};
  ParallelismSpec parallelism{};
  std::uint32_t micro_batches{1};        // per data-parallel replica and step
  std::uint32_t sequences_per_batch{1};  // per micro-batch
  double tflops{400};                    // achieved, per GPU
  std::uint32_t steps{1};
  std::uint64_t bucket_bytes{25'000'000};  // gradients are reduced in pieces of this size
  bool overlap{true};                      // of the gradient reduction with backward compute
  bool shard_optimizer{};                  // reduce-scatter and all-gather instead of all-reduce
  CollectiveAlgorithm algorithm{CollectiveAlgorithm::kAuto};
};

// --- workloads of other tools -------------------------------------------------------------------

// A workload file of SimAI (workload/simai/simai_file.h).
struct SimaiSpec {
  std::string file;
  std::uint32_t steps{1};  // passes
  CollectiveAlgorithm algorithm{CollectiveAlgorithm::kAuto};
};

// Execution traces of Chakra (workload/chakra/chakra_file.h), one for each rank: FILE.RANK.et.
struct ChakraSpec {
  std::string file;    // the names without .RANK.et
  double tflops{400};  // of compute nodes that have num_ops and no duration
  CollectiveAlgorithm algorithm{CollectiveAlgorithm::kAuto};
};

// --- a job --------------------------------------------------------------------------------------

enum class Placement : std::uint8_t {
  kPacked,   // server after server
  kStriped,  // rank r on server r % servers
  kRandom,   // by the seed
};

struct Straggler {
  std::uint32_t rank{};
  double slowdown{1};  // factor by which its compute takes longer
};

struct JobSpec {
  std::string name;
  std::uint32_t first_gpu{};  // GPU of rank 0, for kPacked
  std::uint32_t ranks{};      // zero: all GPUs
  Placement placement{Placement::kPacked};
  Duration start{};
  bool on_front_end{};
  std::vector<Straggler> stragglers;
  std::variant<FlowsSpec, CollectiveSpec, TrainingSpec, SimaiSpec, ChakraSpec> work;
};

// Whether its ranks do anything but send. Its bound is then that of computing, and communication
// that this does not hide comes on top.
[[nodiscard]] inline bool computes(const JobSpec& job) {
  return !std::holds_alternative<FlowsSpec>(job.work) &&
         !std::holds_alternative<CollectiveSpec>(job.work);
}

}  // namespace nerve::sim
