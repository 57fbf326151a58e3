// The members of a group by location: a row for each server, a column for each index within a
// server. If servers are alike, the members of a column are on one rail.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class Grid {
 public:
  struct Uneven {
    std::uint32_t fewest{};  // members per server
    std::uint32_t most{};
  };
  // `servers` has the server of each member. An error if servers have different numbers of members.
  [[nodiscard]] static Result<Grid, Uneven> of(const std::vector<std::uint32_t>& servers);

  [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(size() / columns_); }
  [[nodiscard]] std::uint32_t columns() const { return columns_; }
  [[nodiscard]] std::uint32_t member(std::uint32_t row, std::uint32_t column) const {
    return member_at_[std::size_t{row} * columns_ + column];
  }
  [[nodiscard]] std::uint32_t row(std::uint32_t member) const { return at_[member] / columns_; }
  [[nodiscard]] std::uint32_t column(std::uint32_t member) const { return at_[member] % columns_; }
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(at_.size()); }

 private:
  std::uint32_t columns_{};
  std::vector<std::uint32_t> member_at_;  // row-major
  std::vector<std::uint32_t> at_;         // per member: index in member_at_
};

// The total bytes of the blocks of each column, for a buffer with one block per member.
[[nodiscard]] std::vector<std::uint64_t> bytes_of_columns(const Grid& grid, const Shares& blocks);

}  // namespace nerve::sim
