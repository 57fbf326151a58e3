#include "controller/pair_paths.h"

namespace nerve::controller {
namespace {

// An address that comes twice, or the source among the hops: a routing loop, or a lie.
bool has_loop(const std::vector<wire::Gid>& hops, const wire::Gid& source) {
  for (auto hop = hops.begin(); hop != hops.end(); ++hop) {
    if (hop->is_zero()) continue;
    if (*hop == source || std::find(hops.begin(), hop, *hop) != hop) return true;
  }
  return false;
}

// Without the destination, and what did not answer before it.
std::vector<wire::Gid> routers_of(const MeasuredPath& path) {
  std::vector<wire::Gid> hops = path.hops;
  while (!hops.empty() && (hops.back().is_zero() || hops.back() == path.destination)) {
    hops.pop_back();
  }
  return hops;
}

Links links_between(const wire::Gid& source, const std::vector<wire::Gid>& routers,
                    const wire::Gid& destination) {
  Links links;
  wire::Gid last = source;
  for (const wire::Gid& router : routers) {
    if (router.is_zero()) continue;
    links.push_back({.from = last, .to = router});
    last = router;
  }
  if (!links.empty()) links.push_back({.from = last, .to = destination});
  return links;
}

}  // namespace

const Links* PairPaths::learn(const MeasuredPath& measured, Time now) {
  if (!asked_.contains(measured.port) || has_loop(measured.hops, measured.source)) return nullptr;
  const std::vector<wire::Gid> routers = routers_of(measured);
  if (std::ranges::find(routers, measured.destination) != routers.end()) return nullptr;
  Path& path = paths_[measured.port];
  path.measured = now;
  path.lost = measured.lost;
  if (!measured.lost || path.links.empty()) {
    path.links = links_between(measured.source, routers, measured.destination);
    path.depth = routers.size();
  }
  compare_paths();
  return &path.links;
}

void PairPaths::compare_paths() {
  depth_ = 0;
  for (const auto& [port, path] : paths_) {
    if (!path.lost) depth_ = std::max(depth_, path.depth);
  }
  unavoidable_.clear();
  bool first = true;
  for (const auto& [port, path] : paths_) {
    if (!usable(path)) continue;
    if (first) unavoidable_ = path.links;
    if (!first) {
      const Links& links = path.links;
      std::erase_if(unavoidable_, [&](const Link& link) { return !contains(links, link); });
    }
    first = false;
  }
}

const PairPaths::Path* PairPaths::find(std::uint16_t port) const {
  const auto found = paths_.find(port);
  return found == paths_.end() ? nullptr : &found->second;
}

const Links& PairPaths::links(std::uint16_t port) const {
  static const Links none;
  const Path* const path = find(port);
  return path == nullptr ? none : path->links;
}

bool PairPaths::usable(const Path& path) const {
  return !path.lost && !path.links.empty() && path.depth == depth_;
}

std::size_t PairPaths::different() const {
  std::set<Links> seen;
  for (const auto& [port, path] : paths_) {
    if (usable(path)) seen.insert(path.links);
  }
  return seen.size();
}

}  // namespace nerve::controller
