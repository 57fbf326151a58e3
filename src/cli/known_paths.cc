#include "cli/known_paths.h"

#include <algorithm>
#include <utility>

namespace nerve::cli {
namespace {

bool is_beginning(const Hops& hops, const Hops& of) {
  return hops.size() < of.size() && std::equal(hops.begin(), hops.end(), of.begin());
}

}  // namespace

void KnownPaths::use(std::span<const controller::LiveFlow> flows, Moment now) {
  for (Pair& pair : pairs_) pair.in_use.clear();
  for (const controller::LiveFlow& flow : flows) {
    const Endpoints between{.source = flow.source, .destination = flow.destination};
    Pair* pair = find(between);
    if (pair == nullptr) {
      pair = &pairs_.emplace_back();
      pair->between = between;
    }
    pair->traffic_class = flow.traffic_class;
    pair->used = now;
    pair->in_use.push_back(flow.port);
  }
  std::erase_if(pairs_, [&](const Pair& pair) { return now - pair.used > kForgotten; });
  for (Pair& pair : pairs_) std::ranges::sort(pair.in_use);
}

KnownPaths::Pair* KnownPaths::find(const Endpoints& between) {
  const auto found = std::ranges::find(pairs_, between, &Pair::between);
  return found != pairs_.end() ? &*found : nullptr;
}

const KnownPaths::Pair* KnownPaths::find(const Endpoints& between) const {
  return const_cast<KnownPaths*>(this)->find(between);
}

bool KnownPaths::is_in_use(const Endpoints& between, std::uint16_t port) const {
  const Pair* const pair = find(between);
  return pair != nullptr && std::ranges::binary_search(pair->in_use, port);
}

void KnownPaths::tell(const Pair& pair, std::uint16_t port, const Path& path) {
  news_.push_back({.source = pair.between.source,
                   .destination = pair.between.destination,
                   .port = port,
                   .hops = path.hops,
                   .lost = path.lost});
}

KnownPaths::Outcome KnownPaths::measured(Pair& pair, std::uint16_t port, Hops hops, bool report) {
  if (!pair.ports.contains(port) && pair.ports.size() >= kMostPorts) return {};
  const auto [place, is_new] = pair.ports.try_emplace(port);
  Path& path = place->second;
  const Path before = path;
  if (!is_new && is_beginning(hops, before.hops)) {
    if (report) tell(pair, port, path);
    return {.ends_early = true, .others = {}};
  }
  path = {.hops = std::move(hops), .lost = false};
  const bool changed = path.hops != before.hops;
  if (report || is_new || changed || before.lost) tell(pair, port, path);
  Outcome outcome;
  if (is_new || (!changed && !before.lost)) return outcome;
  for (auto& [other, its] : pair.ports) {
    if (other == port || its.hops != before.hops) continue;
    if (!changed) {  // it is back
      its.lost = false;
      tell(pair, other, its);
    } else if (!std::ranges::binary_search(pair.in_use, other)) {
      outcome.others.push_back(other);
    }
  }
  return outcome;
}

void KnownPaths::lost(Pair& pair, std::uint16_t port) {
  const auto found = pair.ports.find(port);
  if (found == pair.ports.end()) return;
  const Hops hops = found->second.hops;
  for (auto& [other, its] : pair.ports) {
    if (its.lost || its.hops != hops) continue;
    its.lost = true;
    tell(pair, other, its);
  }
}

std::vector<KnownPaths::Watched> KnownPaths::watched(std::uint64_t round) const {
  std::vector<Watched> all;
  for (const Pair& pair : pairs_) {
    struct Group {
      const Hops* hops;
      bool watched{};
      bool lost{};
      std::vector<std::uint16_t> free;
    };
    std::vector<Group> groups;
    for (const auto& [port, path] : pair.ports) {
      const Hops& hops = path.hops;
      if (hops.empty()) continue;
      auto group =
          std::ranges::find_if(groups, [&](const Group& one) { return *one.hops == hops; });
      if (group == groups.end()) group = groups.insert(groups.end(), {&hops, false, false, {}});
      const bool in_use = std::ranges::binary_search(pair.in_use, port);
      group->watched = group->watched || in_use || path.lost;
      group->lost = group->lost || path.lost;
      if (!in_use) group->free.push_back(port);
    }
    for (const Group& group : groups) {
      if (!group.watched || group.free.empty()) continue;
      all.push_back({.between = pair.between,
                     .port = group.free[round % group.free.size()],
                     .last_router = group.hops->back(),
                     .lost = group.lost});
    }
  }
  return all;
}

std::vector<controller::MeasuredPath> KnownPaths::take_news(std::size_t most) {
  if (news_.size() <= most) return std::exchange(news_, {});
  const auto end = news_.begin() + static_cast<std::ptrdiff_t>(most);
  std::vector<controller::MeasuredPath> some{std::make_move_iterator(news_.begin()),
                                             std::make_move_iterator(end)};
  news_.erase(news_.begin(), end);
  return some;
}

}  // namespace nerve::cli
