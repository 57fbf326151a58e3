// What the planner orders to be measured.
#include <cstddef>

#include "controller/path_planner.h"

namespace nerve::controller {
namespace {

constexpr Duration kAllAgain = std::chrono::seconds{10};     // the routes may have changed
constexpr Duration kDoubtedAgain = std::chrono::seconds{1};  // all ports, after a loss
constexpr Duration kWatch = std::chrono::milliseconds{250};  // the ports in use

// Spread over the range, and the same for all pairs, so that a host needs few sockets.
std::uint16_t candidate(std::size_t index) {
  constexpr std::size_t kRange = 0x10000 - kFirstSourcePort;
  return static_cast<std::uint16_t>(kFirstSourcePort + (index * 509 + 37) % kRange);
}

}  // namespace

bool PathPlanner::order_probe(Agent& agent, const PairKey& key, Pair& pair, bool live,
                              const std::set<std::uint16_t>& in_use, Time now, Orders& orders) {
  const bool all = !pair.measured ||
                   (live && now - *pair.measured >= (pair.doubted ? kDoubtedAgain : kAllAgain));
  // A path that was lost is measured until it is back, or until its flows have left it.
  const bool watch = live && (!pair.watched || now - *pair.watched >= kWatch);
  if (!all && !watch) return true;
  for (const std::uint16_t port : in_use) {
    if (pair.paths.asked().size() < kMaxCandidates) pair.paths.ask(port);
  }
  if (all) {
    // Twice as many candidates as there are paths find most of them.
    const std::size_t wanted =
        std::min(std::max(kCandidates, 2 * pair.paths.different()), kMaxCandidates);
    for (std::size_t i = 0; pair.paths.asked().size() < wanted; ++i) pair.paths.ask(candidate(i));
  }
  ProbeOrder order{.source = key.source, .destination = key.destination, .ports = {}};
  for (const std::uint16_t port : pair.paths.asked()) {
    if (all || in_use.contains(port)) order.ports.push_back(port);
  }
  if (!agent.probes.take(static_cast<double>(order.ports.size()))) return false;
  pair.watched = now;
  if (all) {
    pair.measured = now;
    pair.doubted = false;
  }
  if (!order.ports.empty()) orders.probes.push_back(std::move(order));
  return true;
}

void PathPlanner::order_probes(Agent& agent, Time now, Orders& orders) {
  if (agent.pairs.empty()) return;
  struct Uses {
    std::set<std::uint16_t> ports;
    bool live{};
  };
  std::map<PairKey, Uses> uses;
  for (const auto& [key, flow] : agent.flows) {
    Uses& of_pair = uses[key.pair];
    const bool live = matters(key, flow, now);
    of_pair.live |= live;
    const bool may_be_ordered = flow.port >= kFirstSourcePort;
    if (may_be_ordered && of_pair.ports.size() < kCandidates) of_pair.ports.insert(flow.port);
  }
  // From where the allowance was used up the last time.
  auto at = agent.pairs.upper_bound(agent.probed_last);
  for (std::size_t i = 0; i < agent.pairs.size(); ++i, ++at) {
    if (at == agent.pairs.end()) at = agent.pairs.begin();
    const Uses& of_pair = uses[at->first];
    if (!order_probe(agent, at->first, at->second, of_pair.live, of_pair.ports, now, orders)) {
      return;
    }
    agent.probed_last = at->first;
  }
}

}  // namespace nerve::controller
