// Recursive halving (reduce-scatter), recursive doubling (all-gather), and all-reduce as both in
// sequence: log2 N exchanges with ever nearer, then ever farther members.
//
// If N is not a power of two, let P be the next lower power. The first 2 (N - P) members form
// pairs: the odd one first sends its data to the even one, and receives the result at the end. The
// blocks of a pair are adjacent, so that every exchange is one piece of the buffer.
#pragma once

#include "sim/workload/collective/plan.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class HalvingPlan final : public CollectivePlan {
 public:
  struct Parts {
    bool reduce_scatter{};
    bool all_gather{};
  };
  HalvingPlan(std::uint32_t members, std::uint64_t bytes, Parts parts);

  [[nodiscard]] std::uint32_t items() const override { return exchanges_ + 3; }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  struct Exchange {
    std::uint32_t with{};  // the other worker
    std::uint64_t from{};  // offset in the buffer
    std::uint64_t until{};
    Action action{};
  };
  [[nodiscard]] bool idle(std::uint32_t member) const {
    return member < 2 * folded_ && member % 2 == 1;
  }
  [[nodiscard]] bool has_partner(std::uint32_t member) const {
    return member < 2 * folded_ && member % 2 == 0;
  }
  [[nodiscard]] std::uint32_t worker(std::uint32_t member) const {
    return member < 2 * folded_ ? member / 2 : member - folded_;
  }
  [[nodiscard]] std::uint32_t member(std::uint32_t worker) const {
    return worker < folded_ ? 2 * worker : worker + folded_;
  }
  // The offset of a worker's first block; worker `workers_` is the end of the buffer.
  [[nodiscard]] std::uint64_t edge(std::uint32_t worker) const {
    return shares_.offset(member(worker));
  }
  [[nodiscard]] Exchange exchange(std::uint32_t worker, std::uint32_t number) const;
  void fold(std::uint32_t member, Outgoing& out) const;
  void unfold(std::uint32_t member, Outgoing& out) const;
  [[nodiscard]] std::uint64_t unfolded(std::uint32_t partner) const;

  std::uint64_t bytes_;
  Parts parts_;
  Shares shares_;
  std::uint32_t levels_;   // log2 of workers_
  std::uint32_t workers_;  // a power of two
  std::uint32_t folded_;   // members without exchanges of their own
  std::uint32_t exchanges_;
};

}  // namespace nerve::sim
