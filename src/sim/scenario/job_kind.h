// The kinds of job in a scenario file.
#pragma once

#include "sim/scenario/job_spec.h"
#include "sim/scenario/value.h"

namespace nerve::sim::scenario_file {

enum class JobKind : std::uint8_t {
  kPermutation,
  kShift,
  kIncast,
  kFullMesh,
  kRandom,
  kFlowList,
  kCheckpoint,
  kKvCache,
  kAllReduce,
  kReduceScatter,
  kAllGather,
  kBroadcast,
  kAllToAll,
  kTraining,
  kSimai,
  kChakra,
};

inline constexpr Named<JobKind> kJobKinds[] = {
    {"permutation", JobKind::kPermutation},
    {"shift", JobKind::kShift},
    {"incast", JobKind::kIncast},
    {"full-mesh", JobKind::kFullMesh},
    {"random", JobKind::kRandom},
    {"flow-list", JobKind::kFlowList},
    {"checkpoint", JobKind::kCheckpoint},
    {"kv-cache", JobKind::kKvCache},
    {"all-reduce", JobKind::kAllReduce},
    {"reduce-scatter", JobKind::kReduceScatter},
    {"all-gather", JobKind::kAllGather},
    {"broadcast", JobKind::kBroadcast},
    {"all-to-all", JobKind::kAllToAll},
    {"training", JobKind::kTraining},
    {"simai", JobKind::kSimai},
    {"chakra", JobKind::kChakra},
};

using Work = decltype(JobSpec::work);

// Work of this kind, with default values.
[[nodiscard]] Work work_of(JobKind kind);
[[nodiscard]] JobKind kind_of(const Work& work);

}  // namespace nerve::sim::scenario_file
