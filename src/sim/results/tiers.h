// The tiers of a fabric and the links between them, under names that people use.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/results/run_result.h"

namespace nerve::sim {

// Of each tier: what the names of its nodes have in common (leaf), else tier2.
[[nodiscard]] std::vector<std::string> tier_names(std::span<const NodeResult> nodes);

// Links that lead from one tier to another, one direction each: nic>leaf is not leaf>nic, for an
// incast fills only one of them.
struct LinkGroup {
  std::uint16_t from{};
  std::uint16_t to{};
  std::string name;
  std::vector<std::uint32_t> links;  // in order
};
[[nodiscard]] std::vector<LinkGroup> group_links(std::span<const NodeResult> nodes,
                                                 std::span<const LinkResult> links);

[[nodiscard]] std::string link_name(std::span<const NodeResult> nodes, const LinkResult& link);

}  // namespace nerve::sim
