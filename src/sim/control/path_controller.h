// Chooses the paths of QPs in a network whose switches do ECMP.
//
// The controller knows the topology, the hash functions of the switches, and which QPs send. The
// path of a QP follows from its UDP source port, hence from its flow label. For each QP it tries
// labels, follows their paths, and takes the label whose path is used least: the one with the
// fewest QPs, relative to the rate, at its most used cable. When many QPs have come, it moves some
// of them so that all fit better.
//
// QPs of one pair of NICs follow the first of them, unless a NIC is faster than the cables between
// switches. Together they send no faster than their NIC, so on one path they disturb nobody. On
// several paths each would now and then send a burst at the rate of the NIC into a cable that
// others use.
//
// When cables fail or the switches have changed their routes, it chooses again for the QPs whose
// paths are affected. It learns of a failed cable from cables_changed(), and not before.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/prng.h"
#include "sim/control/flow_hash.h"
#include "sim/core/nic_user.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

class PathController {
 public:
  // A QP that gets a flow label.
  struct Order {
    NodeId nic{};
    QpNumber qp{};
    std::uint32_t label{};
  };

  // `fabric` must outlive it.
  explicit PathController(const Fabric& fabric);

  // A QP that was connected. Until it sends, it needs a path that works (for ACKs), but no share of
  // a cable.
  void introduce(const QpEnds& ends, QpNumber qp);
  // It is about to send. Returns its flow label, or nothing if it is sending already.
  std::optional<std::uint32_t> admit(NodeId nic, QpNumber qp);
  // It has ended what it sent. The next message begins another flow.
  void release(NodeId nic, QpNumber qp);

  // Whether so many QPs have begun to send that improve() is worth its time.
  [[nodiscard]] bool may_improve() const { return news_ > sending_ / 8; }
  // Moves QPs from cables that others use less. Returns those that have to move.
  [[nodiscard]] std::vector<Order> improve();
  // Cables have failed, slowed down or come back. Returns the QPs that have to move.
  [[nodiscard]] std::vector<Order> cables_changed();
  // The switches use other routes, with which every hash means another path.
  [[nodiscard]] std::vector<Order> routes_changed();

  [[nodiscard]] std::size_t sending() const { return sending_; }
  [[nodiscard]] std::size_t memory_bytes() const;
  // QPs that send over the cable from this port on.
  [[nodiscard]] std::uint32_t load(PortId port) const { return loads_[port.value()]; }

 private:
  struct Flow {
    QpEnds ends;
    QpNumber qp{};
    std::uint32_t label{};
    std::uint32_t leader{kNobody};  // the flow whose path it shares; only that one counts
    bool sends{};

    [[nodiscard]] bool counts() const { return sends && leader == kNobody; }
  };
  using Path = std::vector<PortId>;
  // The most used port of a path, and how much all of them are used.
  struct Cost {
    std::uint64_t most{};
    std::uint64_t sum{};
    friend constexpr auto operator<=>(const Cost& a, const Cost& b) {
      return a.most == b.most ? a.sum <=> b.sum : a.most <=> b.most;
    }
  };
  // A port, as far as decisions need it: a sixth of a cache line instead of several.
  struct Way {
    NodeId next{};
    std::uint32_t unit{};  // the cost of a QP: inverse to the rate
    bool to_switch{};
    bool up{};  // as far as the controller knows
  };

  [[nodiscard]] const Way& way(PortId port) const { return ways_[port.value()]; }
  // Returns whether rates have changed.
  [[nodiscard]] bool look_at_cables();
  // Finds the ports between switches on the way of these packets, and what they cost. False if the
  // way leads nowhere, or as soon as something about it costs more than the limit.
  [[nodiscard]] bool follow(const Flow& flow, std::uint32_t label, Cost limit);
  [[nodiscard]] bool follow(const Flow& flow) { return follow(flow, flow.label, kNoLimit); }
  [[nodiscard]] std::uint64_t cost_of(PortId port) const;
  // No path of this flow has a most used port that costs less.
  [[nodiscard]] std::uint64_t least_cost(const Flow& flow) const;
  // Whether another QP of these NICs may follow this one, whose path was just found.
  [[nodiscard]] bool may_lead(const Flow& flow) const;
  // Looks for a label that leads this flow along the path that was just found for its leader.
  [[nodiscard]] bool join_leader(Flow& flow);
  // After leaders have moved.
  void bring_followers();
  void leave_followers(std::uint32_t leader);
  [[nodiscard]] std::uint32_t leader_of(const Flow& flow) const;
  // The best label; the present one if none is better.
  void choose(Flow& flow);
  // Another label whose path is used no more than the present one, if there is one.
  void try_another(Flow& flow);
  void count(const Flow& flow);
  void uncount(const Flow& flow);
  void count_all();
  [[nodiscard]] std::uint64_t unevenness() const;
  [[nodiscard]] Flow* find(NodeId nic, QpNumber qp);
  // Those whose labels differ from these.
  [[nodiscard]] std::vector<Order> changes_since(const std::vector<std::uint32_t>& labels) const;
  [[nodiscard]] std::vector<std::uint32_t> labels() const;

  static constexpr Cost kNoLimit{UINT64_MAX, UINT64_MAX};

  const Fabric& fabric_;
  std::vector<Way> ways_;             // per port
  std::vector<std::uint32_t> loads_;  // per port: QPs that send
  std::vector<Flow> flows_;
  std::vector<std::vector<std::uint32_t>> index_;             // per NIC and QP, into flows_
  std::unordered_map<std::uint64_t, std::uint32_t> leaders_;  // per pair of NICs, into flows_
  std::size_t sending_{};
  std::size_t news_{};  // that began to send since improve()
  Prng prng_{1};        // which of several equal labels
  Path path_;           // what follow() has found
  Cost cost_;
};

}  // namespace nerve::sim
