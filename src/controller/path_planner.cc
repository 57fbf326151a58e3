// What the planner hears.
#include "controller/path_planner.h"

#include <utility>

namespace nerve::controller {
namespace {

FlowKey key_of(const LiveFlow& flow) {
  return {.pair = {.source = flow.source, .destination = flow.destination},
          .qpn = flow.qpn.value(),
          .peer = flow.peer.value()};
}

// An order that the agent has not carried out after so long was lost on the process that has ended,
// or the agent cannot.
constexpr Duration kObeyed = std::chrono::seconds{2};

}  // namespace

PathPlanner::PathPlanner(PlannerSettings settings)
    : settings_{std::move(settings)}, loads_{settings_.links} {}

void PathPlanner::tell(PlannerEvent event) {
  constexpr std::size_t kMaxEvents = 4096;  // nobody listens
  if (events_.size() < kMaxEvents) events_.push_back(std::move(event));
}

std::vector<PlannerEvent> PathPlanner::take_events() { return std::exchange(events_, {}); }

void PathPlanner::hear(AgentId id, const Report& report, Time now) {
  Agent& agent = agents_[id];
  agent.host = report.host;
  std::set<FlowKey> here;
  for (const LiveFlow& live : report.flows) {
    if (live.source == live.destination || !here.insert(key_of(live)).second) continue;
    hear_flow(id, agent, live, now);
  }
  std::vector<FlowKey> gone;
  for (const auto& [key, flow] : agent.flows) {
    if (!here.contains(key)) gone.push_back(key);
  }
  for (const FlowKey& key : gone) drop_flow(id, agent, key);

  // Links that have just been seen to work.
  std::set<Link> good;
  for (const auto& [key, flow] : agent.flows) {
    if (flow.progress.advances()) good.insert(flow.counted.begin(), flow.counted.end());
  }
  // What works first: it acquits links that another path of the same report has lost.
  for (const MeasuredPath& path : report.paths) {
    if (path.lost) continue;
    if (const Links* const links = hear_path(agent, path, good, now)) {
      good.insert(links->begin(), links->end());
    }
  }
  for (const MeasuredPath& path : report.paths) {
    if (path.lost) (void)hear_path(agent, path, good, now);
  }
  for (const Link& link : good) agent.suspects.erase(link);
  agent.good = std::move(good);
  agent.heard = now;
  for (auto& [key, flow] : agent.flows) count(agent, key, flow);
}

void PathPlanner::hear_flow(AgentId id, Agent& agent, const LiveFlow& live, Time now) {
  const FlowKey key = key_of(live);
  const auto [at, is_new] = agent.flows.try_emplace(key);
  Flow& flow = at->second;
  if (is_new) {
    flow.port = live.port;
    agent.use(key.pair, live.port);
    owners_[key].insert(id);
    if (agent.pairs.contains(key.pair) || agent.pairs.size() < kMaxPairs) {
      ++agent.pairs[key.pair].flows;
    }
    ++agent.news;
  } else if (live.port == flow.port) {
    if (flow.ordered) flow.refused = 0;
    flow.ordered = false;
  } else if (!flow.ordered || !flow.moved || now - *flow.moved >= kObeyed) {
    agent.disuse(key.pair, flow.port);
    flow.port = live.port;
    flow.refused += flow.ordered ? 1 : 0;
    flow.ordered = false;
    agent.use(key.pair, flow.port);
    ++agent.news;
  }
  flow.traffic_class = live.traffic_class;
  flow.progress.report(live.bytes, live.retransmitted, now);
}

void PathPlanner::drop_flow(AgentId id, Agent& agent, const FlowKey& key) {
  const auto at = agent.flows.find(key);
  uncount(key, at->second);
  agent.disuse(key.pair, at->second.port);
  agent.flows.erase(at);
  ++agent.news;
  if (auto& owners = owners_[key]; owners.erase(id) == 1 && owners.empty()) owners_.erase(key);
  const auto pair = agent.pairs.find(key.pair);
  if (pair == agent.pairs.end() || pair->second.flows == 0) return;
  if (--pair->second.flows == 0) agent.pairs.erase(pair);
}

void PathPlanner::forget(AgentId id) {
  const auto agent = agents_.find(id);
  if (agent == agents_.end()) return;
  while (!agent->second.flows.empty()) {
    const FlowKey key = agent->second.flows.begin()->first;
    drop_flow(id, agent->second, key);
  }
  agents_.erase(agent);
}

const Links* PathPlanner::hear_path(Agent& agent, const MeasuredPath& path,
                                    const std::set<Link>& good, Time now) {
  const PairKey key{.source = path.source, .destination = path.destination};
  const auto at = agent.pairs.find(key);
  if (at == agent.pairs.end()) return nullptr;
  const PairPaths::Path* const before = at->second.paths.find(path.port);
  const bool was_lost = before != nullptr && before->lost;
  const Links old_links = before == nullptr ? Links{} : before->links;
  const Links* const links = at->second.paths.learn(path, now);
  if (links == nullptr) return nullptr;
  if (path.lost && !was_lost) suspect(agent, key, *links, good, now);
  if (was_lost != path.lost || old_links != *links) {
    ++agent.news;
    advise(agent, key);
  }
  return links;
}

void PathPlanner::suspect(Agent& agent, const PairKey& key, const Links& links,
                          const std::set<Link>& good, Time now) {
  Pair& pair = agent.pairs[key];
  pair.doubted = true;
  for (const Link& link : links) {
    if (good.contains(link) || contains(pair.paths.unavoidable(), link)) continue;
    if (!agent.is_suspect(link, now)) {
      tell({.kind = Kind::kSuspected, .host = agent.host, .pair = key, .link = link});
    }
    agent.suspects[link] = now + kSuspectFor;
    ++agent.news;
  }
}

void PathPlanner::look_for_stalls(AgentId id, Agent& agent, Time now) {
  constexpr Duration kFresh = std::chrono::milliseconds{100};
  if (now - agent.heard > kFresh) agent.good.clear();
  for (auto& [key, flow] : agent.flows) {
    if (!flow.progress.stalled(now)) continue;
    const auto pair = agent.pairs.find(key.pair);
    if (pair == agent.pairs.end()) continue;
    // Where it was moved it gets the time to recover.
    if (flow.moved && now - *flow.moved < flow.patience) continue;
    // If it still stalls on another path, its ACKs may be lost: that says nothing about the path.
    if (flow.avoided.empty()) {
      suspect(agent, key.pair, pair->second.paths.links(flow.port), agent.good, now);
    }
    // The ACKs may be what is lost. The peer's agent moves them, if the two name each other and
    // nobody else claims to be this end.
    const auto owners = owners_.find(key.reverse());
    if (owners == owners_.end() || owners->second.size() != 1 || owners_[key].size() != 1) continue;
    const AgentId other = *owners->second.begin();
    if (other != id) agents_.at(other).flows.at(key.reverse()).peer_stalls = now;
  }
}

void PathPlanner::advise(Agent& agent, const PairKey& key) {
  if (settings_.nic_rate == Rate{}) return;
  Pair& pair = agent.pairs[key];
  Rate slowest;
  for (const auto& [port, path] : pair.paths.all()) {
    if (!pair.paths.usable(path)) continue;
    for (const Link& link : path.links) {
      const Rate rate = loads_.rate(link);
      if (rate != Rate{} && (slowest == Rate{} || rate < slowest)) slowest = rate;
    }
  }
  if (slowest == Rate{}) return;
  const std::uint64_t nic = settings_.nic_rate.bits_per_second();
  const std::uint64_t cable = slowest.bits_per_second();
  const auto wanted = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(nic / cable + (nic % cable == 0 ? 0 : 1), 1U << 20U));
  if (wanted == pair.advised) return;
  pair.advised = wanted;
  if (wanted <= pair.flows) return;
  tell({.kind = Kind::kAdvised,
        .host = agent.host,
        .pair = key,
        .flows = pair.flows,
        .qps = wanted});
}

void PathPlanner::count(Agent& agent, const FlowKey& key, Flow& flow) {
  static const Links nowhere;
  const bool sends = flow.progress.sends();
  const auto pair = agent.pairs.find(key.pair);
  const Links& links =
      sends && pair != agent.pairs.end() ? pair->second.paths.links(flow.port) : nowhere;
  // It may send on a path that nobody knows.
  if (flow.counts != sends) {
    flow.counts = sends;
    ++agent.news;
    if (sends) ++sending_[key];
    if (!sends && --sending_[key] == 0) sending_.erase(key);
  }
  if (links == flow.counted) return;
  loads_.remove(flow.counted);
  flow.counted = links;
  loads_.add(flow.counted);
}

void PathPlanner::uncount(const FlowKey& key, Flow& flow) {
  if (flow.counts && --sending_[key] == 0) sending_.erase(key);
  flow.counts = false;
  loads_.remove(flow.counted);
  flow.counted.clear();
}

bool PathPlanner::matters(const FlowKey& key, const Flow& flow) const {
  return flow.progress.sends() || sending_.contains(key.reverse());
}

}  // namespace nerve::controller
