// The tiers of a fabric and the links between them, with readable names.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/results/run_result.h"

namespace nerve::sim {

// Per tier: the common part of its nodes' names (leaf), otherwise tier2.
[[nodiscard]] std::vector<std::string> tier_names(std::span<const NodeResult> nodes);

// The links from one tier to another. Each direction is its own group, since an incast fills only
// one of nic>leaf and leaf>nic.
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
