// The members of a group by where they are: a row for each server, a column for each place within
// it. Members of one column are on one rail when servers are alike.
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
    std::uint32_t fewest{};  // members of a server
    std::uint32_t most{};
  };
  // From the server of each member; the error when servers have different numbers of them.
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
  std::vector<std::uint32_t> member_at_;  // row by row
  std::vector<std::uint32_t> at_;         // of each member, in member_at_
};

// Bytes of all the blocks of each column, of a buffer that has a block for each member.
[[nodiscard]] std::vector<std::uint64_t> bytes_of_columns(const Grid& grid, const Shares& blocks);

}  // namespace nerve::sim
