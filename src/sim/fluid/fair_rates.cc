#include "sim/fluid/fair_rates.h"

#include <algorithm>

#include "base/check.h"

namespace nerve::sim {
namespace {

// Differences that rounding can cause, and relative ones too small to matter. A change that is
// smaller than this does not spread.
constexpr std::int64_t slack_of(std::int64_t rate) { return 16 + (rate >> 20U); }

}  // namespace

FairRates::Number FairRates::add_link(std::int64_t capacity) {
  links_.emplace_back().capacity = capacity;
  return static_cast<Number>(links_.size() - 1);
}

FairRates::Number FairRates::add_flow() {
  flows_.emplace_back();
  return static_cast<Number>(flows_.size() - 1);
}

void FairRates::set_path(Number number, std::span<const Use> path) {
  Flow& flow = flows_[number];
  CHECK(!flow.counted && !path.empty() && path.size() <= 0xffff);
  if (path.size() > flow.room) {
    flow.first = static_cast<std::uint32_t>(hops_.size());
    flow.room = static_cast<std::uint16_t>(path.size());
    hops_.resize(hops_.size() + path.size());
  }
  flow.count = static_cast<std::uint16_t>(path.size());
  for (std::size_t i = 0; i < path.size(); ++i) {
    hops_[flow.first + i] = {path[i].link, std::max(path[i].weight, 1U), 0};
  }
}

void FairRates::mark(Number number) {
  if (flows_[number].pending) return;
  flows_[number].pending = true;
  pending_.push_back(number);
}

void FairRates::begin(Number number) {
  flows_[number].active = true;
  mark(number);
}

void FairRates::end(Number number) {
  flows_[number].active = false;
  mark(number);
}

void FairRates::touch(Number number) {
  if (links_[number].changed) return;
  links_[number].changed = true;
  touched_.push_back(number);
}

void FairRates::set_capacity(Number number, std::int64_t capacity) {
  Link& link = links_[number];
  if (link.capacity == capacity) return;
  link.capacity = capacity;
  link.resized = true;
  touch(number);
}

void FairRates::note(Number number) {
  Link& link = links_[number];
  if (link.noted == call_) return;
  link.noted = call_;
  changed_links_.push_back({number, link.load});
}

void FairRates::enter(Number number) {
  Flow& flow = flows_[number];
  flow.counted = true;
  flow.rate = 0;
  hold(flow, kNone);
  for (std::uint32_t i = 0; i < flow.count; ++i) {
    Hop& hop = hops_[flow.first + i];
    Link& link = links_[hop.link];
    hop.at = static_cast<std::uint32_t>(link.members.size());
    link.members.push_back({number, flow.first + i});
    link.most = std::max(link.most, hop.at + 1);
    touch(hop.link);
  }
}

void FairRates::leave(Number number) {
  Flow& flow = flows_[number];
  flow.counted = false;
  for (const Hop& hop : hops(flow)) {
    Link& link = links_[hop.link];
    note(hop.link);
    link.load -= use_of(flow.rate, hop.weight);
    link.members[hop.at] = link.members.back();
    hops_[link.members[hop.at].hop].at = hop.at;
    link.members.pop_back();
    touch(hop.link);
  }
  changed_flows_.push_back({number, flow.rate});
  flow.rate = 0;
  hold(flow, kNone);
}

void FairRates::hold(Flow& flow, Number link) {
  if (flow.bottleneck != kNone) --links_[flow.bottleneck].held;
  flow.bottleneck = link;
  if (link != kNone) ++links_[link].held;
}

void FairRates::join_region(Number number) {
  Flow& flow = flows_[number];
  if (flow.region == call_ || !flow.counted) return;
  flow.region = call_;
  region_.push_back(number);
}

// The flows that changed, and those that have their bottleneck where they pass.
void FairRates::gather() {
  for (const Number number : pending_) {
    Flow& flow = flows_[number];
    flow.pending = false;
    if (flow.active == flow.counted) continue;  // it has begun again, or ended again
    if (flow.active) {
      enter(number);
      join_region(number);
    } else {
      leave(number);
    }
  }
  pending_.clear();
  for (const Number number : touched_) {
    Link& link = links_[number];
    const bool affects = link.resized || link.held > 0;
    for (const Member& member : affects ? std::span{link.members} : std::span<Member>{}) {
      // A smaller capacity may be too small for any of them.
      if (link.resized || flows_[member.flow].bottleneck == number) join_region(member.flow);
    }
    link.changed = link.resized = false;
  }
  touched_.clear();
}

void FairRates::settle() {
  ++call_;
  changed_flows_.clear();
  changed_links_.clear();
  region_.clear();
  gather();
  if (region_.empty()) return;
  do {
    fill();
  } while (widen());
  commit();
}

std::int64_t FairRates::share_of(const Link& link) {
  if (link.residual <= 0) return 0;
  __extension__ using Wide = unsigned __int128;
  const auto residual = static_cast<std::uint64_t>(link.residual);
  if (residual < std::uint64_t{1} << 47U) {
    return static_cast<std::int64_t>(residual * kWhole / link.weight);
  }
  return static_cast<std::int64_t>(Wide{residual} * kWhole / link.weight);
}

// What the region may use of each link: the capacity without the flows outside.
void FairRates::open_links() {
  open_.clear();
  ++round_;
  for (const Number number : region_) {
    const Flow& flow = flows_[number];
    for (const Hop& hop : hops(flow)) {
      Link& link = links_[hop.link];
      if (link.round != round_) {
        link.round = round_;
        link.residual = link.capacity - link.load;
        link.weight = 0;
        link.level = link.fastest = -1;
        open_.push_back(hop.link);
      }
      link.residual += use_of(flow.rate, hop.weight);
      link.weight += hop.weight;
    }
  }
}

// Progressive filling: the link with the smallest share is full first, and determines the rate of
// its flows. The shares of other links can only grow by that, so an entry of the heap that is out
// of date is too small, and goes back.
void FairRates::fill() {
  open_links();
  filled_ += region_.size();
  heap_.clear();
  for (const Number number : open_) heap_.push_back({share_of(links_[number]), number});
  std::make_heap(heap_.begin(), heap_.end());
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end());
    const Level level = heap_.back();
    heap_.pop_back();
    const Link& link = links_[level.link];
    if (link.weight == 0) continue;
    const std::int64_t share = share_of(link);
    if (share > level.share) {
      heap_.push_back({share, level.link});
      std::push_heap(heap_.begin(), heap_.end());
      continue;
    }
    fix(level.link, share);
  }
}

void FairRates::fix(Number number, std::int64_t share) {
  links_[number].level = share;
  links_[number].shared |= links_[number].members.size() > 1;
  for (const Member& member : links_[number].members) {
    Flow& flow = flows_[member.flow];
    if (flow.region != call_ || flow.round == round_) continue;
    flow.round = round_;
    flow.next = share;
    hold(flow, number);
    for (const Hop& hop : hops(flow)) {
      Link& link = links_[hop.link];
      link.residual -= use_of(share, hop.weight);
      link.weight -= hop.weight;
      link.fastest = share;  // shares only grow
    }
  }
}

// Whether a flow outside the region takes more of this link than the flows that have their
// bottleneck here, or has lost its own bottleneck: the link is not full any more, or another flow
// is faster on it.
bool FairRates::is_unfair(const Link& link, Number number, const Flow& flow) const {
  if (link.level >= 0 && flow.rate > link.level + slack_of(link.level)) return true;
  if (flow.bottleneck != number) return false;
  const auto flows = static_cast<std::int64_t>(link.members.size());
  if (link.residual > slack_of(link.capacity) + 2 * flows) return true;
  return link.fastest > flow.rate + slack_of(flow.rate);
}

bool FairRates::widen() {
  const std::size_t before = region_.size();
  for (const Number number : open_) {
    const Link& link = links_[number];
    if (link.held == 0) continue;  // nobody is limited here
    for (const Member& member : link.members) {
      const Flow& flow = flows_[member.flow];
      if (flow.region != call_ && is_unfair(link, number, flow)) join_region(member.flow);
    }
  }
  return region_.size() > before;
}

void FairRates::commit() {
  for (const Number number : open_) {
    Link& link = links_[number];
    CHECK(link.residual >= 0);  // no link is overloaded
    const std::int64_t load = link.capacity - link.residual;
    if (load != link.load) note(number);
    link.load = load;
  }
  for (const Number number : region_) {
    Flow& flow = flows_[number];
    if (flow.next != flow.rate) changed_flows_.push_back({number, flow.rate});
    flow.rate = flow.next;
  }
}

std::vector<FairRates::Number> FairRates::active_on(Number link) const {
  std::vector<Number> flows;
  for (const Member& member : links_[link].members) flows.push_back(member.flow);
  return flows;
}

}  // namespace nerve::sim
