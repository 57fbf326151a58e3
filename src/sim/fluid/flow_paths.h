// The links that a flow uses, with the share of its bytes on each.
//
// With ECMP a flow uses one path, chosen by the same hash as in the packet simulator. With spraying
// and adaptive routing it is divided evenly over all shortest paths. Ports that every flow uses
// evenly or not at all form one link, whose capacity is their sum: all ports of a fat tree's edge
// switch towards its pod, for example. A path is then short, however many cables it uses. When a
// new path uses only some ports of such a link, the link is divided, and paths that were computed
// before are out of date.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "sim/fabric/fabric.h"
#include "sim/fluid/fair_rates.h"

namespace nerve::sim {

class FlowPaths {
 public:
  // `share_used` is the part of a switch port's rate that data may use, in thousandths, for each
  // network: congestion control may keep links below their rate.
  FlowPaths(Fabric& fabric, FairRates& rates, std::vector<std::uint32_t> share_used);

  struct Ends {
    PortId by{};  // the port of the sending NIC
    NodeId to{};
    std::uint32_t hash{};
  };
  // Empty when there is no path.
  [[nodiscard]] std::span<const FairRates::Use> find(const Ends& ends);
  // Incremented when paths found earlier are out of date.
  [[nodiscard]] std::uint32_t version() const { return version_; }

  // Call it when a cable has changed its rate or state, or the fabric has new routes.
  void update_capacities();

  // A link of `of` ports has lost `count` of them to a new link.
  struct Division {
    FairRates::Number from{};
    FairRates::Number made{};
    std::uint32_t count{};
    std::uint32_t of{};
  };
  // Since the last call.
  [[nodiscard]] std::vector<Division> take_divisions() { return std::exchange(divisions_, {}); }

  // The link of a port and the number of ports that it consists of; kNone if no path uses it.
  [[nodiscard]] FairRates::Number link_of(PortId port) const { return link_of_[port.value()]; }
  [[nodiscard]] std::uint32_t ports_of(FairRates::Number link) const { return ports_[link]; }

 private:
  // The part of a flow at a node.
  struct Part {
    NodeId node{};
    double share{};
  };
  // Ports of one stage of a path that belong together.
  struct Class {
    FairRates::Number link{};
    double share{};  // per port
    std::int64_t capacity{};
    std::vector<PortId> ports;
  };

  [[nodiscard]] std::int64_t capacity_of(PortId port) const;
  [[nodiscard]] FairRates::Number own_link(PortId port);
  void follow_hash(const Ends& ends);
  void divide(const Ends& ends);
  void spread(const Part& part, NodeId to);
  void add_part(NodeId node, double share);
  void classify(PortId port, double share);
  void use_classes();
  [[nodiscard]] FairRates::Number claim(const Class& ports);
  void use(FairRates::Number link, std::uint32_t weight);

  Fabric& fabric_;
  FairRates& rates_;
  std::vector<std::uint32_t> share_used_;
  std::vector<FairRates::Number> link_of_;  // per port
  std::vector<std::uint32_t> ports_;        // per link: how many
  std::uint32_t version_{};
  std::vector<FairRates::Use> path_;  // of the last find()
  std::vector<Part> parts_;           // of the current stage
  std::vector<Part> next_parts_;
  std::vector<std::uint32_t> part_of_;  // per node: index in next_parts_ plus one
  std::vector<Class> classes_;
  std::size_t used_classes_{};
  std::vector<Division> divisions_;
};

}  // namespace nerve::sim
