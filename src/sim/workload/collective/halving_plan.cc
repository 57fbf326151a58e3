#include "sim/workload/collective/halving_plan.h"

#include <bit>

namespace nerve::sim {

HalvingPlan::HalvingPlan(std::uint32_t members, std::uint64_t bytes, Parts parts)
    : bytes_{bytes},
      parts_{parts},
      shares_{bytes, members},
      levels_{static_cast<std::uint32_t>(std::bit_width(members)) - 1},
      workers_{1U << levels_},
      folded_{members - workers_},
      exchanges_{(parts.reduce_scatter ? levels_ : 0) + (parts.all_gather ? levels_ : 0)} {}

HalvingPlan::Exchange HalvingPlan::exchange(std::uint32_t worker, std::uint32_t number) const {
  const bool reduces = parts_.reduce_scatter && number < levels_;
  const std::uint32_t level = parts_.reduce_scatter && !reduces ? number - levels_ : number;
  const std::uint32_t distance = reduces ? workers_ >> (level + 1) : 1U << level;
  const std::uint32_t other = worker ^ distance;
  // Halving sends the blocks that the other worker will reduce; doubling sends the blocks that this
  // one has.
  const std::uint32_t first = (reduces ? other : worker) & ~(distance - 1);
  return {other, edge(first), edge(first + distance), reduces ? Action::kReduce : Action::kCopy};
}

std::uint32_t HalvingPlan::arrivals(std::uint32_t member, std::uint32_t item) const {
  if (idle(member)) {
    return item == exchanges_ + 2 && unfolded(member) > 0 ? 1 : 0;
  }
  if (item == 1 && has_partner(member)) {
    const std::uint64_t bytes = parts_.reduce_scatter ? bytes_ : shares_.bytes(member + 1);
    return bytes > 0 ? 1 : 0;
  }
  if (item < 2 || item > exchanges_ + 1) return 0;
  const std::uint32_t mine = worker(member);
  const Exchange back = exchange(exchange(mine, item - 2).with, item - 2);
  return back.until > back.from ? 1 : 0;
}

void HalvingPlan::fold(std::uint32_t member, Outgoing& out) const {
  out.begin(member - 1, 1);
  if (parts_.reduce_scatter) {
    out.add(0, bytes_, Action::kReduce);
  } else {
    out.add(shares_.offset(member), shares_.bytes(member), Action::kCopy);
  }
}

void HalvingPlan::unfold(std::uint32_t member, Outgoing& out) const {
  const std::uint32_t partner = member + 1;
  const std::uint64_t from = shares_.offset(partner);
  const std::uint64_t until = from + shares_.bytes(partner);
  out.begin(partner, exchanges_ + 2);
  if (!parts_.all_gather) {
    out.add(from, until - from, Action::kCopy);
  } else if (parts_.reduce_scatter) {
    out.add(0, bytes_, Action::kCopy);
  } else {  // all but its own contribution
    out.add(0, from, Action::kCopy);
    out.add(until, bytes_ - until, Action::kCopy);
  }
}

std::uint64_t HalvingPlan::unfolded(std::uint32_t partner) const {
  if (!parts_.all_gather) return shares_.bytes(partner);
  return parts_.reduce_scatter ? bytes_ : bytes_ - shares_.bytes(partner);
}

void HalvingPlan::sends(std::uint32_t member, std::uint32_t item, Outgoing& out) const {
  if (idle(member)) {
    if (item == 0) fold(member, out);
    return;
  }
  if (item >= 1 && item <= exchanges_) {
    const Exchange now = exchange(worker(member), item - 1);
    out.begin(this->member(now.with), item + 1);
    out.add(now.from, now.until - now.from, now.action);
  } else if (item == exchanges_ + 1 && has_partner(member)) {
    unfold(member, out);
  }
}

// Folding members are ahead of or behind the others in the exchanges, so everything counts as one
// phase.
void HalvingPlan::load(std::uint32_t member, std::uint32_t, std::vector<PeerLoad>& out) const {
  Outgoing outgoing;
  for (std::uint32_t item = 0; item < items(); ++item) {
    outgoing.clear();
    sends(member, item, outgoing);
    for (const Transfer& transfer : outgoing.transfers()) {
      out.push_back({transfer.to, transfer.bytes});
    }
  }
}

}  // namespace nerve::sim
