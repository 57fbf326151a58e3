// All-to-all in three ways: each member has a block for each other one.
//
//   direct        to all others, beginning with the next, a few at a time
//   pairwise      one exchange after the other: to the n-th after it, from the n-th before it
//   along rails   what is for another column crosses the server first, then leaves by the rail of
//                 its receiver: NICs talk to those of their own rail alone
//
// The blocks lie in the order of their receivers; received ones follow, in the order of their
// senders, and what only passes through after those.
#pragma once

#include "sim/workload/collective/grid.h"
#include "sim/workload/collective/plan.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class AllToAllPlan final : public CollectivePlan {
 public:
  enum class Way : std::uint8_t { kDirect, kPairwise };
  static constexpr std::uint32_t kInFlight = 8;
  AllToAllPlan(Way way, std::uint32_t members, std::uint64_t bytes);

  [[nodiscard]] std::uint32_t items() const override { return members_; }
  [[nodiscard]] std::uint32_t window() const override {
    return way_ == Way::kDirect ? kInFlight : 1;
  }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  Way way_;
  std::uint32_t members_;
  std::uint64_t bytes_;
  Shares shares_;
};

class RailAllToAllPlan final : public CollectivePlan {
 public:
  // The grid outlives the plan.
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
  std::vector<std::uint64_t> of_column_;  // bytes of the blocks for all its members
};

}  // namespace nerve::sim
