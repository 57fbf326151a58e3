#include "sim/workload/collective/grid.h"

#include <algorithm>
#include <map>

namespace nerve::sim {

Result<Grid, Grid::Uneven> Grid::of(const std::vector<std::uint32_t>& servers) {
  std::map<std::uint32_t, std::vector<std::uint32_t>> members_of;
  for (std::uint32_t member = 0; member < servers.size(); ++member) {
    members_of[servers[member]].push_back(member);
  }
  Uneven counts{static_cast<std::uint32_t>(servers.size()), 0};
  for (const auto& [server, members] : members_of) {
    const auto count = static_cast<std::uint32_t>(members.size());
    counts = {std::min(counts.fewest, count), std::max(counts.most, count)};
  }
  if (counts.fewest != counts.most) return Unexpected{counts};

  // Servers in the order of their first members, so that row 0 contains member 0.
  Grid grid;
  grid.columns_ = counts.most;
  grid.at_.resize(servers.size());
  std::vector<std::vector<std::uint32_t>> rows;
  rows.reserve(members_of.size());
  for (auto& [server, members] : members_of) rows.push_back(std::move(members));
  std::ranges::sort(rows);
  for (const auto& members : rows) {
    for (const std::uint32_t member : members) {
      grid.at_[member] = static_cast<std::uint32_t>(grid.member_at_.size());
      grid.member_at_.push_back(member);
    }
  }
  return grid;
}

std::vector<std::uint64_t> bytes_of_columns(const Grid& grid, const Shares& blocks) {
  std::vector<std::uint64_t> bytes(grid.columns());
  for (std::uint32_t member = 0; member < grid.size(); ++member) {
    bytes[grid.column(member)] += blocks.bytes(member);
  }
  return bytes;
}

}  // namespace nerve::sim
