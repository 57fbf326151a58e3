// Reduce-scatter, all-gather, and all-reduce as both in sequence, on a ring: in each step a member
// sends one block to the next. All-reduce takes 2 (N - 1) steps of S / N bytes.
//
// Member m ends a reduce-scatter with block m, and begins an all-gather with it.
#pragma once

#include "sim/workload/collective/plan.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class RingPlan final : public CollectivePlan {
 public:
  struct Parts {
    bool reduce_scatter{};
    bool all_gather{};
  };
  RingPlan(std::uint32_t members, std::uint64_t bytes, Parts parts);

  [[nodiscard]] std::uint32_t items() const override { return steps_ + 1; }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  [[nodiscard]] std::uint32_t block(std::uint32_t member, std::uint32_t step) const;
  [[nodiscard]] bool reduces(std::uint32_t step) const { return step < reducing_; }

  std::uint32_t members_;
  std::uint64_t bytes_;
  Shares shares_;
  std::uint32_t reducing_;  // number of reducing steps
  std::uint32_t steps_;
};

}  // namespace nerve::sim
