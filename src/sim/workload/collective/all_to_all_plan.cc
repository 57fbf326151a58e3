#include "sim/workload/collective/all_to_all_plan.h"

namespace nerve::sim {

AllToAllPlan::AllToAllPlan(Order order, std::uint32_t members, std::uint64_t bytes)
    : order_{order}, members_{members}, bytes_{bytes}, shares_{bytes, members} {}

std::uint32_t AllToAllPlan::arrivals(std::uint32_t member, std::uint32_t item) const {
  if (shares_.bytes(member) == 0) return 0;
  if (order_ == Order::kPairwise) return item > 0 ? 1 : 0;
  return item == members_ - 1 ? members_ - 1 : 0;
}

void AllToAllPlan::sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  if (item == members_ - 1) return;
  const std::uint32_t to = (member + item + 1) % members_;
  const std::uint64_t each = shares_.bytes(to);
  out.begin(to, order_ == Order::kPairwise ? item + 1 : members_ - 1);
  out.add({shares_.offset(to), bytes_ + member * each, each, Action::kCopy});
}

void AllToAllPlan::load(std::uint32_t member, std::uint32_t, std::vector<PeerLoad>& out) const {
  for (std::uint32_t to = 0; to < members_; ++to) {
    if (to != member) out.push_back({to, shares_.bytes(to)});
  }
}

RailAllToAllPlan::RailAllToAllPlan(const Grid& grid, std::uint64_t bytes)
    : grid_{grid},
      bytes_{bytes},
      shares_{bytes, grid.size()},
      of_column_{bytes_of_columns(grid, shares_)} {}

// The offset at which a member of `column` stores a block from its own row that goes to another
// row.
std::uint64_t RailAllToAllPlan::passing_at(std::uint32_t from_column, std::uint32_t column,
                                           std::uint32_t to_row) const {
  std::uint64_t offset = 2 * bytes_ + grid_.size() + from_column * of_column_[column];
  for (std::uint32_t row = 0; row < to_row; ++row) {
    offset += shares_.bytes(grid_.member(row, column));
  }
  return offset;
}

std::uint32_t RailAllToAllPlan::arrivals(std::uint32_t member, std::uint32_t item) const {
  std::uint32_t count = 0;
  if (item == 1 && of_column_[grid_.column(member)] > 0) count += grid_.columns() - 1;
  if (item == grid_.rows() && grid_.rows() > 1 && shares_.bytes(member) > 0) {
    count += grid_.rows() - 1;
  }
  return count;
}

void RailAllToAllPlan::send_within(std::uint32_t member, Outgoing& out) const {
  const std::uint32_t row = grid_.row(member);
  const std::uint32_t column = grid_.column(member);
  for (std::uint32_t i = 1; i < grid_.columns(); ++i) {
    const std::uint32_t other = (column + i) % grid_.columns();
    out.begin(grid_.member(row, other), 1);
    if (!out.wants_pieces()) {
      out.add(of_column_[other]);
      continue;
    }
    std::uint64_t passing = passing_at(column, other, 0);
    for (std::uint32_t to_row = 0; to_row < grid_.rows(); ++to_row) {
      const std::uint32_t to = grid_.member(to_row, other);
      const std::uint64_t each = shares_.bytes(to);
      out.add({shares_.offset(to), to_row == row ? received_at(member, to) : passing, each,
               Action::kCopy});
      passing += each;
    }
  }
}

void RailAllToAllPlan::send_along(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  const std::uint32_t row = grid_.row(member);
  const std::uint32_t column = grid_.column(member);
  const std::uint32_t to_row = (row + item) % grid_.rows();
  const std::uint32_t to = grid_.member(to_row, column);
  out.begin(to, grid_.rows());
  if (!out.wants_pieces()) return out.add(shares_.bytes(to) * grid_.columns());
  for (std::uint32_t from = 0; from < grid_.columns(); ++from) {
    const std::uint64_t lies_at =
        from == column ? shares_.offset(to) : passing_at(from, column, to_row);
    out.add({lies_at, received_at(grid_.member(row, from), to), shares_.bytes(to), Action::kCopy});
  }
}

void RailAllToAllPlan::sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  if (item == 0) return send_within(member, out);
  if (item < grid_.rows()) send_along(member, item, out);
}

void RailAllToAllPlan::load(std::uint32_t member, std::uint32_t phase,
                            std::vector<PeerLoad>& out) const {
  const std::uint32_t row = grid_.row(member);
  const std::uint32_t column = grid_.column(member);
  if (phase == 0) {
    for (std::uint32_t other = 0; other < grid_.columns(); ++other) {
      if (other != column) out.push_back({grid_.member(row, other), of_column_[other]});
    }
    return;
  }
  for (std::uint32_t to_row = 0; to_row < grid_.rows(); ++to_row) {
    const std::uint32_t to = grid_.member(to_row, column);
    if (to_row != row) out.push_back({to, shares_.bytes(to) * grid_.columns()});
  }
}

}  // namespace nerve::sim
