#include "sim/scenario/job_kind.h"

namespace nerve::sim::scenario_file {
namespace {

// In the order of JobKind.
constexpr FlowPattern kPatterns[] = {
    FlowPattern::kPermutation, FlowPattern::kShift,   FlowPattern::kIncast,
    FlowPattern::kAllToAll,    FlowPattern::kRandom,  FlowPattern::kList,
    FlowPattern::kCheckpoint,  FlowPattern::kKvCache,
};
constexpr CollectiveKind kCollectives[] = {
    CollectiveKind::kAllReduce, CollectiveKind::kReduceScatter, CollectiveKind::kAllGather,
    CollectiveKind::kBroadcast, CollectiveKind::kAllToAll,
};

}  // namespace

Work work_of(JobKind kind) {
  if (kind == JobKind::kTraining) return TrainingSpec{};
  if (kind == JobKind::kSimai) return SimaiSpec{};
  if (kind == JobKind::kChakra) return ChakraSpec{};
  const auto number = static_cast<std::size_t>(kind);
  if (number < std::size(kPatterns)) {
    FlowsSpec flows;
    flows.pattern = kPatterns[number];
    // The simulators that flow lists come from give each flow a QP of its own.
    if (flows.pattern == FlowPattern::kList) flows.qps = FlowQps::kPerFlow;
    return flows;
  }
  CollectiveSpec collective;
  collective.kind = kCollectives[number - std::size(kPatterns)];
  return collective;
}

JobKind kind_of(const Work& work) {
  for (const Named<JobKind>& kind : kJobKinds) {
    const Work made = work_of(kind.value);
    if (made.index() != work.index()) continue;
    if (const auto* flows = std::get_if<FlowsSpec>(&work)) {
      if (flows->pattern != std::get_if<FlowsSpec>(&made)->pattern) continue;
    }
    if (const auto* collective = std::get_if<CollectiveSpec>(&work)) {
      if (collective->kind != std::get_if<CollectiveSpec>(&made)->kind) continue;
    }
    return kind.value;
  }
  return JobKind::kTraining;
}

}  // namespace nerve::sim::scenario_file
