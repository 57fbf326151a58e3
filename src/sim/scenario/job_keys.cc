#include "sim/scenario/job_kind.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

constexpr std::uint64_t kMostRanks = 1U << 20U;
constexpr std::string_view kSized =
    "permutation, shift, incast, full-mesh, random, checkpoint, kv-cache";

void read_kind(Value& v, JobSpec& j) {
  const JobKind before = kind_of(j.work);
  JobKind kind = before;
  v.word(kind, kJobKinds);
  if (kind != before) j.work = work_of(kind);
}

// Reads the index in the list, since two formats have the same size.
void read_precision(Value& v, ModelSpec& m) {
  constexpr Named<std::uint32_t> kPlaces[] = {{"bf16", 0}, {"fp16", 1}, {"fp32", 2}, {"fp8", 3}};
  constexpr std::uint32_t kBytes[] = {2, 2, 4, 1};
  std::uint32_t chosen = 0;
  v.word(chosen, kPlaces);
  m.bytes_per_value = kBytes[chosen];
}

// clang-format off
constexpr Key<JobSpec> kJob[] = {
    {"kind", "type of workload",
     read_kind, kRequired},
    {"name", "shown in reports",
     [](Value& v, JobSpec& j) { v.text(j.name); }, "its kind"},
    {"ranks", "number of GPUs",
     [](Value& v, JobSpec& j) { v.count(j.ranks, 1, kMostRanks); }, "all from first_gpu"},
    {"first_gpu", "GPU of rank 0 with packed placement, counted from 0",
     [](Value& v, JobSpec& j) { v.count(j.first_gpu, 0, kMostRanks); }},
    {"placement", "ranks fill one server after the other, go round-robin over the servers, or are placed at random",
     [](Value& v, JobSpec& j) { v.word(j.placement, kPlacements); }},
    {"start", "when it begins",
     [](Value& v, JobSpec& j) { v.time(j.start, Duration{}, std::chrono::hours{1}); }},
    {"network", "network that carries its messages",
     [](Value& v, JobSpec& j) { v.word(j.on_front_end, kNetworks); },
     "back-end; for a checkpoint the storage's network"},
};

constexpr Key<FlowsSpec> kFlows[] = {
    {"size", "message size; for random, the mean",
     [](Value& v, FlowsSpec& f) { v.bytes(f.bytes, 1); }, kRequired, kSized},
    {"shift", "rank r sends to rank r + shift",
     [](Value& v, FlowsSpec& f) { v.count(f.shift, 1, kMostRanks); }, "", "shift"},
    {"repeat", "messages per rank, one after the other",
     [](Value& v, FlowsSpec& f) { v.count(f.repeat, 1, 1'000'000); }, "",
     "permutation, shift, incast, full-mesh, checkpoint"},
    {"load", "average load as a share of the NIC rate",
     [](Value& v, FlowsSpec& f) { v.number(f.load, 0.001, 2); }, "", "random, kv-cache"},
    {"requests", "total number of messages",
     [](Value& v, FlowsSpec& f) { v.count(f.requests, 1, 100'000'000); }, kRequired, "random, kv-cache"},
    {"file", "file with lines of `src dst priority port bytes start`, the format of HPCC's simulator",
     [](Value& v, FlowsSpec& f) { v.file(f.file); }, kRequired, "flow-list"},
    {"qps", "flows from one rank to another share QPs and their congestion control, or each flow has QPs of its own and starts at line rate",
     [](Value& v, FlowsSpec& f) { v.word(f.qps, kFlowQps); },
     "per-flow for flow-list, per-pair for the others", "random, flow-list, kv-cache"},
};

constexpr Key<CollectiveSpec> kCollective[] = {
    {"size", "buffer size of each rank",
     [](Value& v, CollectiveSpec& c) { v.bytes(c.bytes, 1); }, kRequired},
    {"algorithm", "auto is hierarchical when a server has several ranks, and ring otherwise",
     [](Value& v, CollectiveSpec& c) { v.word(c.algorithm, kAlgorithms); }},
    {"iterations", "repetitions, one after the other",
     [](Value& v, CollectiveSpec& c) { v.count(c.iterations, 1, 1'000'000); }},
    {"chunks", "pieces that a buffer is cut into, to overlap steps; at most 16 with hierarchical",
     [](Value& v, CollectiveSpec& c) { v.count(c.chunks, 1, 65'536); }},
};

constexpr Key<TrainingSpec> kTraining[] = {
    {"steps", "training steps, one after the other",
     [](Value& v, TrainingSpec& t) { v.count(t.steps, 1, 100'000); }},
    {"micro_batches", "micro-batches per data-parallel replica and step",
     [](Value& v, TrainingSpec& t) { v.count(t.micro_batches, 1, 65'536); }},
    {"sequences_per_batch", "sequences per micro-batch",
     [](Value& v, TrainingSpec& t) { v.count(t.sequences_per_batch, 1, 65'536); }},
    {"tflops", "achieved rate of a GPU, in 10^12 operations per second",
     [](Value& v, TrainingSpec& t) { v.number(t.tflops, 0.001, 1e6); }},
    {"overlap", "gradients are reduced during the backward pass",
     [](Value& v, TrainingSpec& t) { v.on_off(t.overlap); }},
    {"bucket", "gradients are reduced in pieces of this size",
     [](Value& v, TrainingSpec& t) { v.bytes(t.bucket_bytes, 1024); }},
    {"shard_optimizer", "reduce-scatter and all-gather instead of all-reduce",
     [](Value& v, TrainingSpec& t) { v.on_off(t.shard_optimizer); }},
    {"algorithm", "algorithm of the gradient reduction",
     [](Value& v, TrainingSpec& t) { v.word(t.algorithm, kAlgorithms); }},
};

constexpr Key<SimaiSpec> kSimai[] = {
    {"file", "workload file of SimAI, as AICB writes it",
     [](Value& v, SimaiSpec& s) { v.file(s.file); }, kRequired},
    {"steps", "passes through the layers, one after the other",
     [](Value& v, SimaiSpec& s) { v.count(s.steps, 1, 100'000); }},
    {"algorithm", "algorithm of all-reduce, reduce-scatter and all-gather of weight gradients",
     [](Value& v, SimaiSpec& s) { v.word(s.algorithm, kAlgorithms); }},
};

constexpr Key<ChakraSpec> kChakra[] = {
    {"file", "execution traces of Chakra, without .RANK.et: rank 3 runs FILE.3.et",
     [](Value& v, ChakraSpec& c) { v.file(c.file); }, kRequired},
    {"tflops", "rate of compute nodes that have num_ops and no duration, in 10^12 operations per second",
     [](Value& v, ChakraSpec& c) { v.number(c.tflops, 0.001, 1e6); }},
    {"algorithm", "algorithm of all-reduce, reduce-scatter and all-gather",
     [](Value& v, ChakraSpec& c) { v.word(c.algorithm, kAlgorithms); }},
};

constexpr Key<ModelSpec> kModel[] = {
    {"parameters", "number of parameters, as in 7e9",
     [](Value& v, ModelSpec& m) { v.number(m.parameters, 1, 1e15); }, kRequired},
    {"layers", "transformer layers",
     [](Value& v, ModelSpec& m) { v.count(m.layers, 1, 10'000); }, kRequired},
    {"hidden", "hidden size",
     [](Value& v, ModelSpec& m) { v.count(m.hidden, 1, 1'000'000); }, kRequired},
    {"sequence", "tokens per sequence",
     [](Value& v, ModelSpec& m) { v.count(m.sequence, 1, 100'000'000); }},
    {"precision", "number format of gradients and activations", read_precision},
    {"experts", "experts per MoE layer; 0: dense model",
     [](Value& v, ModelSpec& m) { v.count(m.experts, 0, 65'536); }},
    {"experts_per_token", "experts that each token is sent to",
     [](Value& v, ModelSpec& m) { v.count(m.experts_per_token, 1, 65'536); }},
};

constexpr Key<ParallelismSpec> kParallelism[] = {
    {"data", "replicas of the model",
     [](Value& v, ParallelismSpec& p) { v.count(p.data, 1, kMostRanks); },
     "ranks / (tensor x pipeline)"},
    {"tensor", "ranks that split each layer",
     [](Value& v, ParallelismSpec& p) { v.count(p.tensor, 1, kMostRanks); }},
    {"pipeline", "stages that split the layers",
     [](Value& v, ParallelismSpec& p) { v.count(p.pipeline, 1, kMostRanks); }},
    {"expert", "ranks that split the experts; must divide data",
     [](Value& v, ParallelismSpec& p) { v.count(p.expert, 1, kMostRanks); }},
};

constexpr Key<Straggler> kStraggler[] = {
    {"rank", "rank in the job",
     [](Value& v, Straggler& s) { v.count(s.rank, 0, kMostRanks); }, kRequired},
    {"slowdown", "factor by which its compute takes longer",
     [](Value& v, Straggler& s) { v.number(s.slowdown, 1, 1000); }, kRequired},
};
// clang-format on

}  // namespace

std::span<const Key<JobSpec>> job_keys() { return kJob; }
std::span<const Key<FlowsSpec>> flows_keys() { return kFlows; }
std::span<const Key<CollectiveSpec>> collective_keys() { return kCollective; }
std::span<const Key<TrainingSpec>> training_keys() { return kTraining; }
std::span<const Key<SimaiSpec>> simai_keys() { return kSimai; }
std::span<const Key<ChakraSpec>> chakra_keys() { return kChakra; }
std::span<const Key<ModelSpec>> model_keys() { return kModel; }
std::span<const Key<ParallelismSpec>> parallelism_keys() { return kParallelism; }
std::span<const Key<Straggler>> straggler_keys() { return kStraggler; }

}  // namespace nerve::sim::scenario_file
