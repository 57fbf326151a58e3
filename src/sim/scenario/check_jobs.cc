#include "sim/scenario/job_kind.h"
#include "sim/scenario/tables.h"
#include "sim/scenario/units.h"
#include "sim/scenario/words.h"

namespace nerve::sim::scenario_file {
namespace {

bool check_ranks(const TableAt& table, const Scenario& scenario, const JobSpec& job) {
  const std::uint64_t gpus = std::uint64_t{scenario.servers.count} * scenario.servers.gpus;
  if (job.first_gpu >= gpus) {
    table.wrong("first_gpu", "there is no GPU " + number(job.first_gpu) + "; the cluster has " +
                                 number(gpus) + ", counted from 0");
    return false;
  }
  if (job.first_gpu + std::uint64_t{job.ranks} > gpus) {
    table.wrong("ranks", number(job.ranks) + " ranks from GPU " + number(job.first_gpu) +
                             ", but the cluster has " + number(gpus) + " GPUs; the limit is " +
                             number(gpus - job.first_gpu) + "; use fewer ranks or more servers");
    return false;
  }
  const auto* flows = std::get_if<FlowsSpec>(&job.work);
  const bool alone = flows != nullptr && (flows->pattern == FlowPattern::kCheckpoint ||
                                          flows->pattern == FlowPattern::kList);
  if (job.ranks < 2 && !alone) {
    table.wrong("ranks", "1 rank has no peer to send to; use 2 or more");
    return false;
  }
  return true;
}

void check_place(const TableAt& table, const Scenario& scenario, const JobSpec& job) {
  if (job.on_front_end && !scenario.front_end) {
    table.wrong("network", "there is no front-end network; write [front_end]");
  }
  for (std::size_t i = 0; i < job.stragglers.size(); ++i) {
    const std::uint32_t rank = job.stragglers[i].rank;
    const std::string key = "straggler." + number(i) + ".rank";
    if (!computes(job)) {
      table.wrong(
          "straggler",
          "its ranks do not compute, so none can be slow; those of training, simai and chakra do");
      return;
    }
    if (rank >= job.ranks) {
      table.errors.add(table.node, table.path_of(key),
                       "there is no rank " + number(rank) + "; the job has " + number(job.ranks) +
                           ", counted from 0");
    }
  }
}

void check_work(const TableAt& table, const Scenario& scenario, const JobSpec& job,
                const FlowsSpec& flows) {
  const std::uint64_t ranks = job.ranks;
  constexpr std::uint64_t kMostFlows = 4'000'000;
  if (flows.pattern == FlowPattern::kShift && flows.shift % ranks == 0) {
    table.wrong("shift", "with shift = " + number(flows.shift) + " each of " + number(ranks) +
                             " ranks would send to itself; 1 to " + number(ranks - 1) +
                             " would do");
  }
  if (flows.pattern == FlowPattern::kAllToAll && ranks * (ranks - 1) * flows.repeat > kMostFlows) {
    table.wrong("ranks", number(ranks) + " ranks with repeat = " + number(flows.repeat) +
                             " make more than " + number(kMostFlows) +
                             " flows; use fewer, or kind = \"all-to-all\"");
  }
  if (flows.pattern != FlowPattern::kCheckpoint) return;
  if (!scenario.storage) {
    table.wrong("kind", "a checkpoint needs storage servers; write [storage] with servers");
  } else if (scenario.storage->on_front_end != job.on_front_end) {
    table.wrong("network", "the storage servers are in the other network; see storage.network");
  }
}

// Which algorithm supports which collective (docs/workloads.md); auto supports all.
bool can(CollectiveAlgorithm algorithm, CollectiveKind kind) {
  using enum CollectiveKind;
  switch (algorithm) {
    case CollectiveAlgorithm::kAuto:
    case CollectiveAlgorithm::kRing:
      return true;
    case CollectiveAlgorithm::kTree:
      return kind == kAllReduce || kind == kBroadcast;
    case CollectiveAlgorithm::kHalvingDoubling:
      return kind == kAllReduce || kind == kReduceScatter || kind == kAllGather;
    case CollectiveAlgorithm::kHierarchical:
      return kind != kBroadcast;
    case CollectiveAlgorithm::kDirect:
      return kind == kAllToAll;
  }
  return false;
}

void check_algorithm(const TableAt& table, CollectiveAlgorithm algorithm, CollectiveKind kind,
                     std::string_view what) {
  if (can(algorithm, kind)) return;
  std::string fit;
  for (const Named<CollectiveAlgorithm>& one : kAlgorithms) {
    if (can(one.value, kind)) (fit += fit.empty() ? "" : ", ") += one.name;
  }
  table.wrong("algorithm", "\"" + std::string{name_of(algorithm, kAlgorithms)} +
                               "\" does not support " + std::string{what} + "; use one of " + fit);
}

void check_work(const TableAt& table, const Scenario&, const JobSpec& job,
                const CollectiveSpec& collective) {
  check_algorithm(table, collective.algorithm, collective.kind,
                  name_of(kind_of(job.work), kJobKinds));
}

void check_work(const TableAt& table, const Scenario&, const JobSpec&, const SimaiSpec& simai) {
  check_algorithm(table, simai.algorithm, CollectiveKind::kAllReduce, "gradients");
}

void check_work(const TableAt& table, const Scenario&, const JobSpec&, const ChakraSpec& chakra) {
  check_algorithm(table, chakra.algorithm, CollectiveKind::kAllReduce, "all-reduce");
}

void check_experts(const TableAt& table, const TrainingSpec& training) {
  const ModelSpec& model = training.model;
  const ParallelismSpec& split = training.parallelism;
  if (model.experts == 0) {
    if (split.expert > 1) {
      table.wrong("parallelism", "expert = " + number(split.expert) +
                                     ", but the model is dense; set model.experts");
    }
    return;
  }
  if (split.data % split.expert != 0) {
    table.wrong("parallelism", "expert = " + number(split.expert) +
                                   " does not divide data = " + number(split.data));
  }
  if (model.experts % split.expert != 0) {
    table.wrong("model", number(model.experts) + " experts cannot be divided over expert = " +
                             number(split.expert) + " ranks");
  }
  if (model.experts_per_token > model.experts) {
    table.wrong("model", "a token cannot be sent to " + number(model.experts_per_token) + " of " +
                             number(model.experts) + " experts");
  }
}

void check_work(const TableAt& table, const Scenario&, const JobSpec& job,
                const TrainingSpec& training) {
  const ParallelismSpec& split = training.parallelism;
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t others = std::uint64_t{split.tensor} * split.pipeline;
  if (static_cast<Wide>(others) * split.data != job.ranks) {
    const std::string way_out = job.ranks % others == 0
                                    ? "; data = " + number(job.ranks / others) + " would do"
                                    : ", which tensor x pipeline does not divide";
    table.wrong("parallelism", "data x tensor x pipeline is " + number(split.data) + " x " +
                                   number(split.tensor) + " x " + number(split.pipeline) +
                                   ", but the job has " + number(job.ranks) + " ranks" + way_out);
  }
  if (training.model.layers < split.pipeline) {
    table.wrong("model", number(training.model.layers) + " layers are too few for pipeline = " +
                             number(split.pipeline) + " stages");
  }
  check_algorithm(table, training.algorithm, CollectiveKind::kAllReduce, "gradients");
  check_experts(table, training);
}

}  // namespace

void check_jobs(const TableAt& document, const Scenario& scenario) {
  const std::vector<const Node*> nodes = find_tables(document, "job");
  for (std::size_t i = 0; i < scenario.jobs.size(); ++i) {
    const JobSpec& job = scenario.jobs[i];
    const TableAt table{*nodes[i], "job." + number(i), document.errors};
    if (!check_ranks(table, scenario, job)) continue;
    check_place(table, scenario, job);
    std::visit([&](const auto& work) { check_work(table, scenario, job, work); }, job.work);
  }
}

}  // namespace nerve::sim::scenario_file
