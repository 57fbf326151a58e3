#include "sim/workload/collective/tree_plan.h"

#include <algorithm>

namespace nerve::sim {

TreePlan::TreePlan(Kind kind, std::uint32_t members, std::uint64_t bytes, Shape shape)
    : kind_{kind},
      members_{members},
      bytes_{bytes},
      arity_{shape.children},
      chunks_{shape.chunks},
      shares_{bytes, shape.chunks} {}

std::uint32_t TreePlan::first_child(std::uint32_t member) const {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{member} * arity_ + 1, members_));
}

std::uint32_t TreePlan::end_of_children(std::uint32_t member) const {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{member} * arity_ + 1 + arity_, members_));
}

std::uint32_t TreePlan::arrivals(std::uint32_t member, std::uint32_t item) const {
  if (shares_.bytes(item / lanes()) == 0) return 0;
  if (goes_up(item)) return end_of_children(member) - first_child(member);
  return member == 0 ? 0 : 1;
}

// The root sends down from the same item that receives the last arrival from below.
void TreePlan::sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  const std::uint32_t chunk = item / lanes();
  const bool up = goes_up(item);
  if (up && member > 0) {
    out.begin((member - 1) / arity_, item);
    out.add(shares_.offset(chunk), shares_.bytes(chunk), Action::kReduce);
    return;
  }
  if (kind_ == Kind::kAllReduce && member == 0 && !up) return;
  const std::uint32_t down = kind_ == Kind::kAllReduce ? 2 * chunk + 1 : chunk;
  for (std::uint32_t i = first_child(member); i < end_of_children(member); ++i) {
    out.begin(i, down);
    out.add(shares_.offset(chunk), shares_.bytes(chunk), Action::kCopy);
  }
}

void TreePlan::load(std::uint32_t member, std::uint32_t, std::vector<PeerLoad>& out) const {
  if (kind_ == Kind::kAllReduce && member > 0) out.push_back({(member - 1) / arity_, bytes_});
  for (std::uint32_t i = first_child(member); i < end_of_children(member); ++i) {
    out.push_back({i, bytes_});
  }
}

}  // namespace nerve::sim
