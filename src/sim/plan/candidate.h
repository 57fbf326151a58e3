// A candidate: one choice for everything that a plan leaves open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/plan/plan_spec.h"
#include "sim/plan/prices.h"
#include "sim/scenario/job_spec.h"
#include "sim/scenario/override.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/scenario_error.h"

namespace nerve::sim::plan {

struct Candidate {
  std::uint32_t servers{};
  std::uint32_t gpus_per_server{};
  std::uint32_t nics_per_server{};
  Rate nic_rate{};
  TopologyKind topology{};
  double oversubscription{1};
  NetworkKind network{};
  Cabling cabling{};
  std::size_t switch_part{};  // index in the prices
  // Chosen for training jobs, if the plan asks for it; `data` follows from the others.
  std::optional<ParallelismSpec> parallelism{};
  std::uint32_t micro_batches{};

  [[nodiscard]] std::uint32_t gpus() const { return servers * gpus_per_server; }
  [[nodiscard]] std::uint32_t nics() const { return servers * nics_per_server; }
  [[nodiscard]] LinkKind link() const {
    return network == NetworkKind::kInfiniBand ? LinkKind::kInfiniBand : LinkKind::kEthernet;
  }
};

// roce rail-optimised 2:1, 32 x 8 GPUs, 8 x 400G, 64 ports
[[nodiscard]] std::string name_of(const Candidate& candidate, const Prices& prices);

// Ports of this rate that a switch has: a port can be split into up to 8. Zero: it is too slow.
[[nodiscard]] std::uint32_t ports_at(const Part& switch_part, Rate rate);

// The keys of a scenario that stand for the candidate; an error says why its switches cannot build
// the topology.
[[nodiscard]] Result<std::vector<Override>, std::string> overrides_of(const Candidate& candidate,
                                                                      const PlanSpec& spec,
                                                                      const Prices& prices);

// The same and more applied to the rest of the plan file.
[[nodiscard]] Result<Scenario, std::vector<ScenarioError>> scenario_of(
    const PlanSpec& spec, const std::vector<Override>& overrides);

// The same as the text of a scenario file, which `nerve sim` runs.
[[nodiscard]] std::string scenario_text(const PlanSpec& spec,
                                        const std::vector<Override>& overrides);

// job.0 in a list, job if the file has one table.
[[nodiscard]] std::string job_path(const PlanSpec& spec, std::size_t number);

// Everything that [vary] allows, with the number of servers of `gpus`; of a budget, without. The
// order is that of the lists, so numbers of candidates do not change from run to run.
[[nodiscard]] std::vector<Candidate> combinations(const PlanSpec& spec, const Prices& prices);

}  // namespace nerve::sim::plan
