// All-reduce up and down a tree, and broadcast down a tree or a chain, pipelined in chunks: while
// one chunk goes to the next level, the following one arrives.
//
// The tree is a heap: the children of member m are a m + 1 to a m + a, with a = 2 for the binary
// tree and a = 1 for the chain. Member 0 is the root.
#pragma once

#include "sim/workload/collective/plan.h"
#include "sim/workload/collective/shares.h"

namespace nerve::sim {

class TreePlan final : public CollectivePlan {
 public:
  enum class Kind : std::uint8_t { kAllReduce, kBroadcast };
  struct Shape {
    std::uint32_t children{2};
    std::uint32_t chunks{1};
  };
  TreePlan(Kind kind, std::uint32_t members, std::uint64_t bytes, Shape shape);

  [[nodiscard]] std::uint32_t items() const override { return chunks_ * lanes(); }
  [[nodiscard]] std::uint32_t lanes() const override { return kind_ == Kind::kAllReduce ? 2 : 1; }
  [[nodiscard]] std::uint32_t arrivals(std::uint32_t member, std::uint32_t item) const override;
  void sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const override;
  void load(std::uint32_t member, std::uint32_t phase, std::vector<PeerLoad>& out) const override;

 private:
  [[nodiscard]] bool goes_up(std::uint32_t item) const {
    return kind_ == Kind::kAllReduce && item % 2 == 0;
  }
  [[nodiscard]] std::uint32_t first_child(std::uint32_t member) const;
  [[nodiscard]] std::uint32_t end_of_children(std::uint32_t member) const;

  Kind kind_;
  std::uint32_t members_;
  std::uint64_t bytes_;
  std::uint32_t arity_;
  std::uint32_t chunks_;
  Shares shares_;
};

}  // namespace nerve::sim
