#include "sim/workload/collective/hierarchical_plan.h"

#include <algorithm>

namespace nerve::sim {

HierarchicalPlan::HierarchicalPlan(const Grid& grid, std::uint64_t bytes, Parts parts,
                                   std::uint32_t chunks)
    : grid_{grid},
      parts_{parts},
      chunks_{chunks},
      shares_{bytes, grid.size()},
      of_column_(std::size_t{chunks} * grid.columns()),
      reducing_{parts.reduce_scatter ? grid.rows() - 1 : 0},
      steps_{reducing_ + (parts.all_gather ? grid.rows() - 1 : 0)} {
  const std::uint64_t message = std::max<std::uint64_t>(bytes_of(0, 0), 1);
  on_rails_ = static_cast<std::uint32_t>(
      std::max<std::uint64_t>((kBytesOnRails + message - 1) / message, kOnRails));
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    for (std::uint32_t block = 0; block < grid.size(); ++block) {
      of_column_[chunk * grid.columns() + grid.column(block)] += bytes_of(block, chunk);
    }
  }
}

// As in RingPlan: the last block that a row receives while reducing is its own.
std::uint32_t HierarchicalPlan::row_sent(std::uint32_t row, std::uint32_t step) const {
  const std::uint32_t back = reduces(step) ? step + 1 : step - reducing_;
  return (row + grid_.rows() - back) % grid_.rows();
}

void HierarchicalPlan::add_block(std::uint32_t block, std::uint32_t chunk, Action action,
                                 Outgoing& out) const {
  const Shares parts{shares_.bytes(block), chunks_};
  out.add(shares_.offset(block) + parts.offset(chunk), parts.bytes(chunk), action);
}

void HierarchicalPlan::add_column(std::uint32_t column, std::uint32_t chunk, Action action,
                                  Outgoing& out) const {
  if (!out.wants_pieces()) return out.add(bytes_of_column(column, chunk));
  for (std::uint32_t row = 0; row < grid_.rows(); ++row) {
    add_block(grid_.member(row, column), chunk, action, out);
  }
}

std::uint32_t HierarchicalPlan::arrivals(std::uint32_t member, std::uint32_t item) const {
  const std::uint32_t column = grid_.column(member);
  const std::uint32_t chunk = item % chunks_;
  const std::uint32_t at = item / chunks_;
  std::uint32_t count = 0;
  if (at == kScattered && parts_.reduce_scatter && bytes_of_column(column, chunk) > 0) {
    count += grid_.columns() - 1;
  }
  if (at > kFirstStep && at <= gather_at()) {
    const std::uint32_t before = (grid_.row(member) + grid_.rows() - 1) % grid_.rows();
    const std::uint32_t block = grid_.member(row_sent(before, at - kFirstStep - 1), column);
    count += bytes_of(block, chunk) > 0 ? 1 : 0;
  }
  if (at > gather_at() && parts_.all_gather) {
    for (std::uint32_t other = 0; other < grid_.columns(); ++other) {
      if (other != column && bytes_of_column(other, chunk) > 0) ++count;
    }
  }
  return count;
}

void HierarchicalPlan::sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  const std::uint32_t row = grid_.row(member);
  const std::uint32_t column = grid_.column(member);
  const std::uint32_t chunk = item % chunks_;
  const std::uint32_t at = item / chunks_;
  const std::uint32_t next = item + chunks_;
  const bool scatters = at == kScatter && parts_.reduce_scatter;
  const bool gathers = at == gather_at() && parts_.all_gather;
  if (scatters || gathers) {
    for (std::uint32_t i = 1; i < grid_.columns(); ++i) {
      const std::uint32_t other = (column + i) % grid_.columns();
      out.begin(grid_.member(row, other), next);
      add_column(scatters ? other : column, chunk, scatters ? Action::kReduce : Action::kCopy, out);
    }
  } else if (at >= kFirstStep && at < gather_at()) {
    out.begin(grid_.member((row + 1) % grid_.rows(), column), next);
    add_block(grid_.member(row_sent(row, at - kFirstStep), column), chunk,
              reduces(at - kFirstStep) ? Action::kReduce : Action::kCopy, out);
  }
}

std::uint32_t HierarchicalPlan::waits_for(std::uint32_t item) const {
  const std::uint32_t chunk = item % chunks_;
  const std::uint32_t at = item / chunks_;
  if (at == kScatter && chunk >= kCrossing) return kScattered * chunks_ + chunk - kCrossing;
  if (at == kFirstStep && chunk >= on_rails_) return gather_at() * chunks_ + chunk - on_rails_;
  return kNoItem;
}

void HierarchicalPlan::load(std::uint32_t member, std::uint32_t phase,
                            std::vector<PeerLoad>& out) const {
  const bool all = phases() == 1;
  if ((all || phase == 0) && parts_.reduce_scatter) load_within(member, true, out);
  if (all || phase == 1) load_along(member, out);
  if ((all || phase == 2) && parts_.all_gather) load_within(member, false, out);
}

void HierarchicalPlan::load_within(std::uint32_t member, bool scatter,
                                   std::vector<PeerLoad>& out) const {
  const std::uint32_t column = grid_.column(member);
  for (std::uint32_t other = 0; other < grid_.columns(); ++other) {
    if (other == column) continue;
    std::uint64_t bytes = 0;
    for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) {
      bytes += bytes_of_column(scatter ? other : column, chunk);
    }
    out.push_back({grid_.member(grid_.row(member), other), bytes});
  }
}

void HierarchicalPlan::load_along(std::uint32_t member, std::vector<PeerLoad>& out) const {
  if (steps_ == 0) return;
  const std::uint32_t column = grid_.column(member);
  const std::uint32_t next = grid_.member((grid_.row(member) + 1) % grid_.rows(), column);
  std::uint64_t all = 0;
  for (std::uint32_t chunk = 0; chunk < chunks_; ++chunk) all += bytes_of_column(column, chunk);
  std::uint64_t bytes = 0;
  if (reducing_ > 0) bytes += all - shares_.bytes(member);
  if (steps_ > reducing_) bytes += all - shares_.bytes(next);
  out.push_back({next, bytes});
}

}  // namespace nerve::sim
