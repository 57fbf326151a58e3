// A collective operation, the choice of its algorithm, and its plan.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sim/scenario/job_spec.h"
#include "sim/workload/collective/grid.h"
#include "sim/workload/collective/plan.h"

namespace nerve::sim {

struct Operation {
  CollectiveKind kind{};
  CollectiveAlgorithm algorithm{};
  std::uint64_t bytes{};    // per member: the output of all-gather, the input of all others
  std::uint32_t chunks{1};  // zero: the default

  friend bool operator==(const Operation&, const Operation&) = default;
};

// The properties of a group that the choice of a plan depends on.
struct GroupLayout {
  std::uint32_t members{};
  std::optional<Grid> grid;  // none if servers have different numbers of members
  Grid::Uneven uneven{};     // those numbers
  std::uint64_t least_chunk{1};
};
[[nodiscard]] GroupLayout layout_of(const std::vector<std::uint32_t>& servers);

// Replaces kAuto by an algorithm and zero chunks by the default. With kAuto, one chunk is replaced
// too.
[[nodiscard]] Operation resolve(const Operation& operation, const GroupLayout& layout);
// Why a resolved operation is not possible; none if it is.
[[nodiscard]] std::optional<std::string> objection(const Operation& operation,
                                                   const GroupLayout& layout);
// For a resolved operation without objection. The layout must outlive the plan.
[[nodiscard]] std::unique_ptr<CollectivePlan> make_plan(const Operation& operation,
                                                        const GroupLayout& layout);

// The bytes that all members send together; the same for every algorithm.
[[nodiscard]] std::uint64_t bytes_of(const Operation& operation, const GroupLayout& layout);

}  // namespace nerve::sim
