// What the planner orders for flows.
#include <optional>
#include <tuple>

#include "controller/path_planner.h"

namespace nerve::controller {
namespace {

// A flow that was moved and still does not advance gets another path after this time, then after
// twice the time.
constexpr Duration kPatience = std::chrono::milliseconds{150};
constexpr Duration kMaxPatience = std::chrono::milliseconds{500};
// For so long the stall of a peer is news.
constexpr Duration kPeerStalls = std::chrono::milliseconds{500};
// Between two moves that only balance loads.
constexpr Duration kRest = std::chrono::seconds{1};

}  // namespace

// A port that a flow may get. Smaller ones are better.
struct PathPlanner::Choice {
  std::size_t suspects{};  // links of its path
  std::size_t shared{};    // links with the present path
  PathCost cost;
  bool taken{};  // by another flow of this pair
  bool opens{};  // a port that the host does not use yet
  std::uint16_t port{};

  [[nodiscard]] auto of_loads() const { return std::tie(cost, taken, opens, port); }
  [[nodiscard]] auto of_escape() const {
    return std::tie(suspects, shared, cost, taken, opens, port);
  }
};

PathPlanner::Choice PathPlanner::judge(const Agent& agent, const FlowKey& key, const Flow& flow,
                                       std::uint16_t port, const PairPaths::Path& path,
                                       Time now) const {
  const Pair& pair = agent.pairs.at(key.pair);
  const Links& unavoidable = pair.paths.unavoidable();
  const Links& present = pair.paths.links(flow.port);
  Choice choice{.cost = loads_.cost(path.links, flow.counted, unavoidable),
                .taken = agent.pair_uses.contains({key.pair, port}),
                .opens = !agent.uses.contains(port),
                .port = port};
  for (const Link& link : path.links) {
    if (contains(unavoidable, link)) continue;
    if (agent.is_suspect(link, now)) ++choice.suspects;
    if (contains(present, link) || contains(flow.avoided, link)) ++choice.shared;
  }
  return choice;
}

// The port after this one whose path nobody knows; or this one.
std::uint16_t PathPlanner::untried_port(const Pair& pair, std::uint16_t port) const {
  std::uint16_t first = 0;
  for (const std::uint16_t other : pair.paths.asked()) {
    const PairPaths::Path* const path = pair.paths.find(other);
    if (other == port || (path != nullptr && (path->lost || !path->links.empty()))) continue;
    if (other > port) return other;
    if (first == 0) first = other;
  }
  return first == 0 ? port : first;
}

void PathPlanner::escape(Agent& agent, const FlowKey& key, Flow& flow, Time now, Orders& orders) {
  const auto at = agent.pairs.find(key.pair);
  if (at == agent.pairs.end()) return;
  const PairPaths& paths = at->second.paths;
  const PairPaths::Path* const present = paths.find(flow.port);
  std::size_t suspects = 0;
  if (present != nullptr) {
    for (const Link& link : present->links) suspects += agent.is_suspect(link, now) ? 1 : 0;
  }
  std::optional<Reason> reason;
  if (flow.peer_stalls && now - *flow.peer_stalls < kPeerStalls) reason = Reason::kPeerStalled;
  if (suspects > 0) reason = Reason::kSuspect;
  if (flow.progress.stalled(now)) reason = Reason::kStalled;
  if (present != nullptr && present->lost) reason = Reason::kLost;
  if (!flow.progress.stalled(now) && flow.moved && now - *flow.moved >= kMaxPatience) {
    flow.patience = Duration{};
    flow.avoided.clear();
  }
  if (!reason || (flow.moved && now - *flow.moved < flow.patience)) return;
  flow.peer_stalls.reset();
  std::optional<Choice> best;
  for (const auto& [port, path] : paths.all()) {
    if (port == flow.port || !paths.usable(path)) continue;
    const Choice choice = judge(agent, key, flow, port, path, now);
    if (!best || choice.of_escape() < best->of_escape()) best = choice;
  }
  const std::uint16_t port = best ? best->port : untried_port(at->second, flow.port);
  // Another path that is suspect too helps only a flow that has no other hope.
  if (*reason == Reason::kSuspect && (!best || best->suspects >= suspects)) return;
  if (port == flow.port) return;
  constexpr std::size_t kMaxAvoided = 64;
  if (present != nullptr && flow.avoided.size() < kMaxAvoided) {
    flow.avoided.insert(flow.avoided.end(), present->links.begin(), present->links.end());
  }
  flow.patience =
      flow.patience == Duration{} ? kPatience : std::min(2 * flow.patience, kMaxPatience);
  at->second.doubted = true;
  move(agent, key, flow, port, *reason, now, orders);
}

// So much is known about a pair that a flow on a path that is not known may be moved.
bool PathPlanner::surveyed(const Pair& pair, Time now) {
  constexpr Duration kLongEnough = std::chrono::seconds{2};  // routers limit their answers
  if (!pair.measured || pair.paths.different() < 2) return false;
  return pair.paths.all().size() == pair.paths.asked().size() ||
         now - *pair.measured >= kLongEnough;
}

bool PathPlanner::spread(Agent& agent, const FlowKey& key, Flow& flow, Time now, Orders& orders) {
  const auto at = agent.pairs.find(key.pair);
  if (at == agent.pairs.end() || !matters(key, flow)) return false;
  // An agent that does not carry out orders gets fewer and fewer.
  const Duration rest = kRest * (1U << std::min(flow.refused, 6U));
  if (flow.progress.stalled(now) || (flow.moved && now - *flow.moved < rest)) return true;
  const PairPaths& paths = at->second.paths;
  const PairPaths::Path* const present = paths.find(flow.port);
  const bool known = present != nullptr && paths.usable(*present);
  // ACKs need no share of a link, but a path that is known: its loss is noticed.
  if (known && !flow.progress.sends()) return false;
  if (!known && !surveyed(at->second, now)) return true;
  const bool is_last_user = agent.uses.at(flow.port) == 1;
  const std::size_t others = agent.uses.size() - (is_last_user ? 1 : 0);
  std::optional<Choice> best;
  for (const auto& [port, path] : paths.all()) {
    if (port == flow.port || !paths.usable(path) || agent.suspects_any(path.links, now)) continue;
    const Choice choice = judge(agent, key, flow, port, path, now);
    if (choice.opens && others >= kMaxPortsOfHost) continue;
    if (!best || choice.of_loads() < best->of_loads()) best = choice;
  }
  if (!best) return false;
  if (known) {
    const PathCost cost = loads_.cost(present->links, flow.counted, paths.unavoidable());
    if (best->cost.most >= cost.most) return false;
  }
  if (!agent.moves.take(1)) return true;
  move(agent, key, flow, best->port, known ? Reason::kShared : Reason::kUnmeasured, now, orders);
  return true;
}

void PathPlanner::move(Agent& agent, const FlowKey& key, Flow& flow, std::uint16_t port,
                       Reason reason, Time now, Orders& orders) {
  PlannerEvent event{.kind = Kind::kMoved,
                     .reason = reason,
                     .host = agent.host,
                     .qpn = Qpn{key.qpn},
                     .peer = Qpn{key.peer},
                     .pair = key.pair,
                     .from = flow.port,
                     .to = port};
  const PairPaths& paths = agent.pairs.at(key.pair).paths;
  for (const Link& link : paths.links(flow.port)) {
    if (contains(paths.unavoidable(), link)) continue;
    if (const std::uint32_t flows = loads_.flows(link); flows > event.flows) {
      event.flows = flows;
      event.link = link;
    }
  }
  tell(std::move(event));
  agent.disuse(key.pair, flow.port);
  flow.port = port;
  agent.use(key.pair, port);
  flow.ordered = true;
  flow.moved = now;
  count(agent, key, flow);
  const auto limit = settings_.rate_limits.find(flow.traffic_class);
  flow.rate_limit = limit == settings_.rate_limits.end() ? 0 : limit->second;
  orders.flows.push_back(
      {.qpn = Qpn{key.qpn}, .peer = Qpn{key.peer}, .port = port, .rate_limit = flow.rate_limit});
}

void PathPlanner::limit_rate(const FlowKey& key, Flow& flow, Orders& orders) const {
  const auto limit = settings_.rate_limits.find(flow.traffic_class);
  const std::uint64_t wanted = limit == settings_.rate_limits.end() ? 0 : limit->second;
  if (wanted == flow.rate_limit) return;
  flow.rate_limit = wanted;
  orders.flows.push_back(
      {.qpn = Qpn{key.qpn}, .peer = Qpn{key.peer}, .port = 0, .rate_limit = wanted});
}

Orders PathPlanner::orders_for(AgentId id, Time now) {
  Orders orders;
  const auto found = agents_.find(id);
  if (found == agents_.end()) return orders;
  Agent& agent = found->second;
  agent.moves.refill(now);
  agent.probes.refill(now);
  std::erase_if(agent.suspects, [&](const auto& suspect) { return suspect.second <= now; });
  look_for_stalls(id, agent, now);
  for (auto& [key, flow] : agent.flows) {
    count(agent, key, flow);
    if (matters(key, flow)) escape(agent, key, flow, now, orders);
  }
  // While nothing changes, nothing is to be found.
  if (agent.settled != std::pair{agent.news, loads_.version()}) {
    bool later = !agent.suspects.empty();
    for (auto& [key, flow] : agent.flows) later |= spread(agent, key, flow, now, orders);
    if (!later) agent.settled = {agent.news, loads_.version()};
  }
  for (auto& [key, flow] : agent.flows) limit_rate(key, flow, orders);
  order_probes(agent, now, orders);
  return orders;
}

}  // namespace nerve::controller
