// What the planner knows about an agent: its flows, the paths that it has measured, and the links
// that it has lost. Nothing that an agent reports changes what is known about another one.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "base/optional_time.h"
#include "controller/flow_progress.h"
#include "controller/link_loads.h"
#include "controller/messages.h"
#include "controller/pair_paths.h"

namespace nerve::controller {

// From a host to another one.
struct PairKey {
  wire::Gid source{};
  wire::Gid destination{};
  friend bool operator==(const PairKey&, const PairKey&) = default;
  friend auto operator<=>(const PairKey& a, const PairKey& b) {
    return a.source == b.source ? a.destination.bytes <=> b.destination.bytes
                                : a.source.bytes <=> b.source.bytes;
  }
};

struct FlowKey {
  PairKey pair;
  std::uint32_t qpn{};
  std::uint32_t peer{};
  friend bool operator==(const FlowKey&, const FlowKey&) = default;
  friend auto operator<=>(const FlowKey& a, const FlowKey& b) {
    return std::tie(a.pair, a.qpn, a.peer) <=> std::tie(b.pair, b.qpn, b.peer);
  }

  // The other direction of the same connection.
  [[nodiscard]] FlowKey reverse() const {
    return {
        .pair = {.source = pair.destination, .destination = pair.source}, .qpn = peer, .peer = qpn};
  }
};

struct PlannedFlow {
  std::uint16_t port{};  // as ordered, or as reported
  std::uint8_t traffic_class{};
  bool counts{};               // it sends
  bool ordered{};              // the agent has not reported this port yet
  OptionalTime peer_stalls;    // nothing comes back: perhaps this direction is lost
  std::uint64_t rate_limit{};  // as ordered
  FlowProgress progress;
  OptionalTime moved;
  unsigned refused{};   // orders in a row that were not carried out
  Duration patience{};  // until it may leave a path again that does not work either
  Links avoided;        // that it has left while it did not advance
  Links counted;        // where it counts as a load
};

struct PlannedPair {
  PairPaths paths;
  OptionalTime measured;       // when all ports were ordered to be measured
  OptionalTime measured_lost;  // likewise, those whose path does not work
  bool doubted{};              // something was lost since
  std::uint32_t flows{};
  std::uint32_t advised{};  // QPs
};

// Limits events to so many per second, and so many at once.
class Allowance {
 public:
  constexpr Allowance(double per_second, double at_once)
      : per_second_{per_second}, at_once_{at_once}, left_{at_once} {}

  void refill(Time now) {
    const double seconds = last_ ? std::chrono::duration<double>{now - *last_}.count() : 0;
    left_ = std::min(at_once_, left_ + std::max(seconds, 0.0) * per_second_);
    last_ = now;
  }
  [[nodiscard]] bool take(double wanted) {
    if (left_ < wanted) return false;
    left_ -= wanted;
    return true;
  }

 private:
  double per_second_;
  double at_once_;
  double left_;
  OptionalTime last_;
};

struct PlannedAgent {
  static constexpr double kMovesPerSecond = 32;
  static constexpr double kProbesPerSecond = 1024;  // source ports

  std::string host;
  std::map<FlowKey, PlannedFlow> flows;
  std::map<PairKey, PlannedPair> pairs;
  std::map<Link, Time> suspects;  // until when
  std::set<Link> good;            // that the last report has shown to work
  Time heard;
  std::map<std::uint16_t, std::uint32_t> uses;  // flows of each port
  std::map<std::pair<PairKey, std::uint16_t>, std::uint32_t> pair_uses;
  Allowance moves{kMovesPerSecond, kMovesPerSecond / 2};
  Allowance probes{kProbesPerSecond, kProbesPerSecond / 2};
  PairKey probed_last;
  std::uint64_t news{1};                            // changes with its paths and flows
  std::pair<std::uint64_t, std::uint64_t> settled;  // news and loads for which nothing was to move

  [[nodiscard]] bool suspects_any(const Links& links, Time now) const {
    return std::ranges::any_of(links, [&](const Link& link) { return is_suspect(link, now); });
  }
  [[nodiscard]] bool is_suspect(const Link& link, Time now) const {
    const auto found = suspects.find(link);
    return found != suspects.end() && now < found->second;
  }
  void use(const PairKey& pair, std::uint16_t port) {
    ++uses[port];
    ++pair_uses[{pair, port}];
  }
  void disuse(const PairKey& pair, std::uint16_t port) {
    if (--uses[port] == 0) uses.erase(port);
    if (--pair_uses[{pair, port}] == 0) pair_uses.erase({pair, port});
  }
};

}  // namespace nerve::controller
