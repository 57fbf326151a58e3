// A network of hosts behind two routers with parallel routers between them, whose choice is a hash
// with a secret, and an agent for each host that does as it is told.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "controller/path_planner.h"

namespace nerve::controller {

class Fabric {
 public:
  static constexpr Duration kStep = std::chrono::milliseconds{50};

  Fabric(std::uint32_t middles, std::uint64_t seed, PlannerSettings settings = {})
      : planner{std::move(settings)}, middles_{middles}, seed_{seed} {}

  static wire::Gid host(std::uint32_t n) {
    return wire::Gid::ipv4(10, 0, static_cast<std::uint8_t>(n), 1);
  }
  static wire::Gid middle(std::uint32_t n) {
    return wire::Gid::ipv4(10, 9, static_cast<std::uint8_t>(n), 1);
  }
  static constexpr wire::Gid kNear = wire::Gid::ipv4(10, 8, 0, 1);
  static constexpr wire::Gid kFar = wire::Gid::ipv4(10, 8, 0, 2);

  // Another flow of this host, to another one.
  LiveFlow& add_flow(std::uint32_t from, std::uint32_t to, std::uint16_t port);
  // One step: the agents report, and carry out what they are told. Returns the orders for flows.
  std::size_t step();
  void steps(int count) {
    while (count-- > 0) (void)step();
  }
  // The middle router that the packets of a flow pass.
  [[nodiscard]] std::uint32_t middle_of(const LiveFlow& flow) const;
  // How many flows of these hosts pass each of them.
  [[nodiscard]] std::vector<std::uint32_t> spread() const;
  [[nodiscard]] std::vector<PlannerEvent> events(PlannerEvent::Kind kind);

  PathPlanner planner;
  std::map<std::uint32_t, std::vector<LiveFlow>> flows;  // by host
  std::set<std::uint32_t> dead;                          // middle routers
  bool probes_answered{true};
  bool obeys{true};
  std::vector<Orders> orders;  // all that were given, in order
  Time now{std::chrono::seconds{1}};

 private:
  [[nodiscard]] MeasuredPath measure(const ProbeOrder& order, std::uint16_t port);
  [[nodiscard]] bool check_paths(std::uint32_t number, Report& report);
  void send(LiveFlow& flow) const;
  [[nodiscard]] bool is_in_use(const ProbeOrder& order, std::uint16_t port) const;

  std::uint32_t middles_;
  std::uint64_t seed_;
  int steps_{};
  std::map<std::uint32_t, Orders> told_;
  std::map<std::pair<PairKey, std::uint16_t>, std::vector<wire::Gid>> answered_;
  std::set<std::pair<PairKey, std::uint16_t>> lost_;
  std::vector<PlannerEvent> events_;
};

}  // namespace nerve::controller
