// The keys of [plan], [vary] and [limits].
#pragma once

#include <span>

#include "sim/plan/plan_spec.h"
#include "sim/scenario/key.h"
#include "sim/scenario/words.h"

namespace nerve::sim::plan {

template <class Spec>
using KeysOf = std::span<const scenario_file::Key<Spec>>;

[[nodiscard]] KeysOf<PlanSpec> top_plan_keys();
[[nodiscard]] KeysOf<PlanSpec> own_plan_keys();
[[nodiscard]] KeysOf<VarySpec> vary_keys();
[[nodiscard]] KeysOf<LimitSpec> limit_keys();

}  // namespace nerve::sim::plan
