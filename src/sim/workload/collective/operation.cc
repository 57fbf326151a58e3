#include "sim/workload/collective/operation.h"

#include <algorithm>

#include "base/check.h"
#include "sim/workload/collective/all_to_all_plan.h"
#include "sim/workload/collective/halving_plan.h"
#include "sim/workload/collective/hierarchical_plan.h"
#include "sim/workload/collective/ring_plan.h"
#include "sim/workload/collective/tree_plan.h"
#include "sim/workload/words.h"

namespace nerve::sim {
namespace {

using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;

constexpr std::uint32_t kMostChunks = 65'536;

// For a chain or a tree, chunks of half a megabyte, as in NCCL. A hierarchical plan overlaps its
// phases as long as messages stay large enough.
std::uint32_t usual_chunks(const Operation& operation, const GroupLayout& layout) {
  constexpr std::uint64_t kBytes = 524'288;
  const bool chain = operation.kind == Kind::kBroadcast;
  if (operation.algorithm == Algorithm::kTree || chain) {
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(operation.bytes / kBytes, 1, 256));
  }
  if (operation.algorithm != Algorithm::kHierarchical || !layout.grid) return 1;
  if (operation.kind == Kind::kAllToAll || layout.grid->rows() == 1) return 1;
  const std::uint64_t block = operation.bytes / layout.members;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(block / layout.least_chunk, 1, kMostLanes));
}

Algorithm usual_algorithm(Kind kind, const GroupLayout& layout) {
  const bool several = layout.grid && layout.grid->columns() > 1;
  if (kind == Kind::kAllToAll) {
    return several && layout.grid->rows() > 1 ? Algorithm::kHierarchical : Algorithm::kDirect;
  }
  if (kind == Kind::kBroadcast) return Algorithm::kRing;
  return several ? Algorithm::kHierarchical : Algorithm::kRing;
}

std::uint32_t most_chunks(const Operation& operation) {
  return operation.algorithm == Algorithm::kHierarchical ? kMostLanes : kMostChunks;
}

bool known(Kind kind, Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::kAuto:
      return false;
    case Algorithm::kRing:
      return true;
    case Algorithm::kTree:
      return kind == Kind::kAllReduce || kind == Kind::kBroadcast;
    case Algorithm::kHalvingDoubling:
      return kind != Kind::kBroadcast && kind != Kind::kAllToAll;
    case Algorithm::kHierarchical:
      return kind != Kind::kBroadcast;
    case Algorithm::kDirect:
      return kind == Kind::kAllToAll;
  }
  return false;
}

template <class Plan>
typename Plan::Parts parts_of(Kind kind) {
  return {.reduce_scatter = kind != Kind::kAllGather, .all_gather = kind != Kind::kReduceScatter};
}

}  // namespace

GroupLayout layout_of(const std::vector<std::uint32_t>& servers) {
  GroupLayout layout{.members = static_cast<std::uint32_t>(servers.size()), .grid = {}};
  auto grid = Grid::of(servers);
  if (grid) {
    layout.grid = *std::move(grid);
  } else {
    layout.uneven = grid.error();
  }
  return layout;
}

Operation resolve(const Operation& operation, const GroupLayout& layout) {
  Operation resolved = operation;
  const bool left_to_us = operation.algorithm == Algorithm::kAuto;
  if (left_to_us) resolved.algorithm = usual_algorithm(operation.kind, layout);
  if (operation.chunks == 0 || (left_to_us && operation.chunks == 1)) {
    resolved.chunks = usual_chunks(resolved, layout);
  }
  return resolved;
}

std::optional<std::string> objection(const Operation& operation, const GroupLayout& layout) {
  const std::string what{words_of(operation.kind)};
  if (!known(operation.kind, operation.algorithm)) {
    return "there is no " + std::string{words_of(operation.algorithm)} + " " + what;
  }
  if (operation.algorithm == Algorithm::kHierarchical && !layout.grid) {
    return "a hierarchical " + what + " needs as many ranks on every server, but one has " +
           std::to_string(layout.uneven.fewest) + " and another " +
           std::to_string(layout.uneven.most);
  }
  if (operation.bytes == 0) return what + " of 0 bytes moves nothing";
  if (operation.chunks == 0 || operation.chunks > most_chunks(operation)) {
    return "chunks is " + std::to_string(operation.chunks) + ", expected 1 to " +
           std::to_string(most_chunks(operation));
  }
  return std::nullopt;
}

std::unique_ptr<CollectivePlan> make_plan(const Operation& operation, const GroupLayout& layout) {
  const auto [kind, algorithm, bytes, chunks] = operation;
  const std::uint32_t members = layout.members;
  switch (algorithm) {
    case Algorithm::kRing:
      if (kind == Kind::kAllToAll) {
        return std::make_unique<AllToAllPlan>(AllToAllPlan::Order::kPairwise, members, bytes);
      }
      if (kind == Kind::kBroadcast) {
        return std::make_unique<TreePlan>(TreePlan::Kind::kBroadcast, members, bytes,
                                          TreePlan::Shape{.children = 1, .chunks = chunks});
      }
      return std::make_unique<RingPlan>(members, bytes, parts_of<RingPlan>(kind));
    case Algorithm::kTree:
      return std::make_unique<TreePlan>(
          kind == Kind::kAllReduce ? TreePlan::Kind::kAllReduce : TreePlan::Kind::kBroadcast,
          members, bytes, TreePlan::Shape{.children = 2, .chunks = chunks});
    case Algorithm::kHalvingDoubling:
      return std::make_unique<HalvingPlan>(members, bytes, parts_of<HalvingPlan>(kind));
    case Algorithm::kHierarchical:
      CHECK(layout.grid);
      if (kind == Kind::kAllToAll) return std::make_unique<RailAllToAllPlan>(*layout.grid, bytes);
      return std::make_unique<HierarchicalPlan>(*layout.grid, bytes,
                                                parts_of<HierarchicalPlan>(kind), chunks);
    case Algorithm::kDirect:
    case Algorithm::kAuto:
      break;
  }
  CHECK(algorithm == Algorithm::kDirect);
  return std::make_unique<AllToAllPlan>(AllToAllPlan::Order::kDirect, members, bytes);
}

std::uint64_t bytes_of(const Operation& operation, const GroupLayout& layout) {
  const auto plan = make_plan(resolve(operation, layout), layout);
  std::uint64_t bytes = 0;
  std::vector<PeerLoad> loads;
  for (std::uint32_t phase = 0; phase < plan->phases(); ++phase) {
    for (std::uint32_t member = 0; member < layout.members; ++member) {
      loads.clear();
      plan->load(member, phase, loads);
      for (const PeerLoad& load : loads) bytes += load.bytes;
    }
  }
  return bytes;
}

}  // namespace nerve::sim
