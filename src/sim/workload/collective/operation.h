// A collective to be done, the way to do it, and the plan that follows.
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
  std::uint64_t bytes{};    // of each member's buffer: what all-gather ends, all others begin with
  std::uint32_t chunks{1};  // zero: as is usual

  friend bool operator==(const Operation&, const Operation&) = default;
};

// The members of a group, as the choice of a plan needs to know them.
struct GroupLayout {
  std::uint32_t members{};
  std::optional<Grid> grid;  // none where servers have different numbers of members
  Grid::Uneven uneven{};     // those numbers
};
[[nodiscard]] GroupLayout layout_of(const std::vector<std::uint32_t>& servers);

// Puts a way in the place of kAuto, and chunks in the place of zero; where the way was left to us
// also in the place of one.
[[nodiscard]] Operation resolve(const Operation& operation, const GroupLayout& layout);
// Why a resolved operation cannot be done, in words; nothing when it can.
[[nodiscard]] std::optional<std::string> objection(const Operation& operation,
                                                   const GroupLayout& layout);
// Of a resolved operation without objection. The layout outlives the plan.
[[nodiscard]] std::unique_ptr<CollectivePlan> make_plan(const Operation& operation,
                                                        const GroupLayout& layout);

// That all members together send, whichever way the operation is done.
[[nodiscard]] std::uint64_t bytes_of(const Operation& operation, const GroupLayout& layout);

}  // namespace nerve::sim
