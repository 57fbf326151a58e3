#include "sim/workload/collective/ring_plan.h"

namespace nerve::sim {

RingPlan::RingPlan(std::uint32_t members, std::uint64_t bytes, Parts parts)
    : members_{members},
      bytes_{bytes},
      shares_{bytes, members},
      reducing_{parts.reduce_scatter ? members - 1 : 0},
      steps_{reducing_ + (parts.all_gather ? members - 1 : 0)} {}

// The block that a member sends in a step. The last block it receives while reducing is its own,
// and the all-gather begins with that.
std::uint32_t RingPlan::block(std::uint32_t member, std::uint32_t step) const {
  const std::uint32_t back = reduces(step) ? step + 1 : step - reducing_;
  return (member + members_ - back) % members_;
}

std::uint32_t RingPlan::arrivals(std::uint32_t member, std::uint32_t item) const {
  if (item == 0) return 0;
  const std::uint32_t before = (member + members_ - 1) % members_;
  return shares_.bytes(block(before, item - 1)) > 0 ? 1 : 0;
}

void RingPlan::sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  if (item == steps_) return;
  const std::uint32_t part = block(member, item);
  out.begin((member + 1) % members_, item + 1);
  out.add(shares_.offset(part), shares_.bytes(part),
          reduces(item) ? Action::kReduce : Action::kCopy);
}

void RingPlan::load(std::uint32_t member, std::uint32_t, std::vector<PeerLoad>& out) const {
  if (steps_ == 0) return;
  const std::uint32_t next = (member + 1) % members_;
  std::uint64_t bytes = 0;
  if (reducing_ > 0) bytes += bytes_ - shares_.bytes(member);
  if (steps_ > reducing_) bytes += bytes_ - shares_.bytes(next);
  out.push_back({next, bytes});
}

}  // namespace nerve::sim
