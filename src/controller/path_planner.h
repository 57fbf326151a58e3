// Chooses the UDP source ports of flows, hence their paths, from what agents have measured.
//
// The switches hash with secrets of their own, so a path is not computed: agents measure where the
// packets with some source ports pass. Each flow that sends gets the port whose most used link has
// the fewest flows. Flows on a path that was lost, and flows that retransmit and do not advance,
// leave it at once, for a path that shares no suspected link.
//
// Agents may be wrong or lie. An agent gets orders only for flows that it has reported, and its
// measurements count only for those: what another agent reports changes how much the links seem to
// be used, and nothing else.
//
// No I/O, and no clock: the same calls give the same orders.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/time.h"
#include "controller/link_loads.h"
#include "controller/messages.h"
#include "controller/planner_state.h"

namespace nerve::controller {

struct PlannerSettings {
  Rate nic_rate;                                      // zero: not known
  std::vector<Cable> links;                           // whose rates are known
  std::map<std::uint8_t, std::uint64_t> rate_limits;  // of traffic classes, bits per second
};

// A decision, for people.
struct PlannerEvent {
  enum class Kind : std::uint8_t { kMoved, kSuspected, kAdvised };
  enum class Reason : std::uint8_t {
    kShared,
    kLost,
    kStalled,
    kSuspect,
    kPeerStalled,
    kUnmeasured
  };
  Kind kind{};
  Reason reason{};
  std::string host;
  Qpn qpn{};
  Qpn peer{};
  PairKey pair;
  std::uint16_t from{};  // source ports
  std::uint16_t to{};
  Link link{};            // shared or suspected
  std::uint32_t flows{};  // that shared it
  std::uint32_t qps{};    // advised for the pair, which has `flows`
};

class PathPlanner {
 public:
  using AgentId = std::uint64_t;
  static constexpr std::size_t kMaxPairs = 1024;  // of an agent; others keep their ports
  static constexpr std::size_t kCandidates = 32;  // source ports to begin with
  static constexpr std::size_t kMaxCandidates = 128;
  // A host shares a few sockets among all QPs.
  static constexpr std::size_t kMaxPortsOfHost = 24;
  static constexpr Duration kSuspectFor = std::chrono::seconds{5};

  explicit PathPlanner(PlannerSettings settings);

  // A report has come. Flows that are not in it are gone.
  void hear(AgentId agent, const Report& report, Time now);
  // The agent has gone, and its flows with it.
  void forget(AgentId agent);
  // What the agent shall do now. Nothing twice, so the orders must reach it.
  [[nodiscard]] Orders orders_for(AgentId agent, Time now);

  // What has happened since the last call.
  [[nodiscard]] std::vector<PlannerEvent> take_events();

  [[nodiscard]] const LinkLoads& loads() const { return loads_; }
  [[nodiscard]] const std::map<AgentId, PlannedAgent>& agents() const { return agents_; }

 private:
  using Agent = PlannedAgent;
  using Flow = PlannedFlow;
  using Pair = PlannedPair;
  using Kind = PlannerEvent::Kind;
  using Reason = PlannerEvent::Reason;

  // Reports.
  void hear_flow(AgentId id, Agent& agent, const LiveFlow& live, Time now);
  void drop_flow(AgentId id, Agent& agent, const FlowKey& key);
  // Returns the links of the path; null if it does not count.
  const Links* hear_path(Agent& agent, const MeasuredPath& path, const std::set<Link>& good,
                         Time now);
  void look_for_stalls(AgentId id, Agent& agent, Time now);
  void suspect(Agent& agent, const PairKey& key, const Links& links, const std::set<Link>& good,
               Time now);
  void advise(Agent& agent, const PairKey& key);
  // Counts a flow where it is a load now.
  void count(Agent& agent, const FlowKey& key, Flow& flow);
  void uncount(const FlowKey& key, Flow& flow);
  // It sends, or its peer does and it carries the ACKs.
  [[nodiscard]] bool matters(const FlowKey& key, const Flow& flow) const;

  // Choices.
  struct Choice;
  [[nodiscard]] Choice judge(const Agent& agent, const FlowKey& key, const Flow& flow,
                             std::uint16_t port, const PairPaths::Path& path, Time now) const;
  [[nodiscard]] std::uint16_t untried_port(const Pair& pair, std::uint16_t port) const;
  void escape(Agent& agent, const FlowKey& key, Flow& flow, Time now, Orders& orders);
  // Returns whether it may have to move later, although nothing changes.
  bool spread(Agent& agent, const FlowKey& key, Flow& flow, Time now, Orders& orders);
  [[nodiscard]] static bool surveyed(const Pair& pair, Time now);
  void move(Agent& agent, const FlowKey& key, Flow& flow, std::uint16_t port, Reason reason,
            Time now, Orders& orders);
  void limit_rate(const FlowKey& key, Flow& flow, Orders& orders) const;

  // Probes.
  void order_probes(Agent& agent, Time now, Orders& orders);
  // False if it has to wait for the allowance.
  [[nodiscard]] bool order_probe(Agent& agent, const PairKey& key, Pair& pair, Time now,
                                 Orders& orders);

  void tell(PlannerEvent event);

  PlannerSettings settings_;
  LinkLoads loads_;
  std::map<AgentId, Agent> agents_;
  std::map<FlowKey, std::set<AgentId>> owners_;
  std::map<FlowKey, std::uint32_t> sending_;  // and how many agents say so
  std::vector<PlannerEvent> events_;
};

}  // namespace nerve::controller
