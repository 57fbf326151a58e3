// All-to-all by three algorithms. Each member has a block for each other member.
//
// Direct: to all others, beginning with the next, a few at a time.
//
// Pairwise: one exchange after the other, to the n-th member after it and from the n-th before it.
//
// Along rails: blocks for another column first cross the server to that column, then leave on its
// rail, so that NICs only send to NICs of their own rail.
//
// The buffer has the blocks in the order of their receivers, then received blocks in the order of
// their senders, then blocks in transit.
#pragma once

#include "sim/workload/collective/grid.h"
#include "sim/workload/collective/plan.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class AllToAllPlan final : public CollectivePlan {
 public:
  enum class Order : std::uint8_t { kDirect, kPairwise };
  static constexpr std::uint32_t kInFlight = 8;
  AllToAllPlan(Order order, std::uint32_t members, std::uint64_t bytes);

  [[nodiscard]] std::uint32_t items() const override { return members_; }
  [[nodiscard]] std::uint32_t window() const override {
    return order_ == Order::kDirect ? kInFlight : 1;
  }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  Order order_;
  std::uint32_t members_;
  std::uint64_t bytes_;
  Shares shares_;
};

class RailAllToAllPlan final : public CollectivePlan {
 public:
  // The grid must outlive the plan.
  RailAllToAllPlan(const Grid& grid, std::uint64_t bytes);

  // Within the server, then a step for each other row, then the end.
  [[nodiscard]] std::uint32_t items() const override { return grid_.rows() + 1; }
  [[nodiscard]] std::uint32_t window() const override {
    return AllToAllPlan::kInFlight + grid_.columns() - 1;
  }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  [[nodiscard]] std::uint32_t phases() const override { return 2; }
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  [[nodiscard]] std::uint64_t received_at(std::uint32_t from, std::uint32_t by) const {
    return bytes_ + from * shares_.bytes(by);
  }
  [[nodiscard]] std::uint64_t passing_at(std::uint32_t from_column, std::uint32_t column,
                                         std::uint32_t to_row) const;
  void send_within(std::uint32_t member, Outgoing& out) const;
  void send_along(std::uint32_t member, std::uint32_t item, Outgoing& out) const;

  const Grid& grid_;
  std::uint64_t bytes_;
  Shares shares_;
  std::vector<std::uint64_t> of_column_;  // bytes of the blocks for all members of a column
};

}  // namespace nerve::sim
