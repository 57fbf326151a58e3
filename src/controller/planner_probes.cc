// What the planner orders to be measured.
#include <cstddef>

#include "controller/path_planner.h"

namespace nerve::controller {
namespace {

// Agents look after the paths in use by themselves. Routers limit how often they answer.
constexpr Duration kAllAgain = std::chrono::seconds{60};     // the routes may have changed
constexpr Duration kLostAgain = std::chrono::seconds{5};     // a path may be back
constexpr Duration kDoubtedAgain = std::chrono::seconds{1};  // all ports, after a loss

// Spread over the range, and the same for all pairs, so that a host needs few sockets.
std::uint16_t candidate(std::size_t index) {
  constexpr std::size_t kRange = 0x10000 - kFirstSourcePort;
  return static_cast<std::uint16_t>(kFirstSourcePort + (index * 509 + 37) % kRange);
}

}  // namespace

bool PathPlanner::order_probe(Agent& agent, const PairKey& key, Pair& pair, Time now,
                              Orders& orders) {
  const auto due = [&](const OptionalTime& last, Duration after) {
    return !last || now - *last >= after;
  };
  const bool all = due(pair.measured, pair.doubted ? kDoubtedAgain : kAllAgain);
  const bool lost = due(pair.measured_lost, kLostAgain);
  if (!all && !lost) return true;
  if (all) {
    // Twice as many candidates as there are paths find most of them.
    const std::size_t wanted =
        std::min(std::max(kCandidates, 2 * pair.paths.different()), kMaxCandidates);
    for (std::size_t i = 0; pair.paths.asked().size() < wanted; ++i) pair.paths.ask(candidate(i));
  }
  ProbeOrder order{.source = key.source, .destination = key.destination, .ports = {}};
  for (const std::uint16_t port : pair.paths.asked()) {
    const PairPaths::Path* const path = pair.paths.find(port);
    if (all || (path != nullptr && !pair.paths.usable(*path))) order.ports.push_back(port);
  }
  if (!agent.probes.take(static_cast<double>(order.ports.size()))) return false;
  pair.measured_lost = now;
  if (all) {
    pair.measured = now;
    pair.doubted = false;
  }
  if (!order.ports.empty()) orders.probes.push_back(std::move(order));
  return true;
}

void PathPlanner::order_probes(Agent& agent, Time now, Orders& orders) {
  std::set<PairKey> live;
  for (const auto& [key, flow] : agent.flows) {
    if (matters(key, flow)) live.insert(key.pair);
  }
  // From where the allowance was used up the last time.
  auto at = agent.pairs.upper_bound(agent.probed_last);
  for (std::size_t i = 0; i < agent.pairs.size(); ++i, ++at) {
    if (at == agent.pairs.end()) at = agent.pairs.begin();
    auto& [key, pair] = *at;
    // Once at the beginning, and while it is used.
    if (pair.measured && !live.contains(key)) continue;
    if (!order_probe(agent, key, pair, now, orders)) return;
    agent.probed_last = key;
  }
}

}  // namespace nerve::controller
