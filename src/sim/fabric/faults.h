// The faults of a scenario: looks up their cables in the graph and schedules them on the wheel.
//
// A cable that fails immediately loses the packets on it and in the queues of its two ports.
// Switches reroute after the fault's `reroute` delay, and again when the cable is back. Until then
// packets routed to it are dropped, except under adaptive path choice, which sees that the port is
// down. A NIC with a second port uses that one at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "sim/core/clockwork.h"
#include "sim/fabric/fabric.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim {

class Faults {
 public:
  Faults() = default;

  // Finds all cables between the two named nodes. Errors: an unknown name (with the nearest known
  // one), two nodes without a cable between them, a value out of range.
  [[nodiscard]] static Result<Faults, std::string> find(const Graph& graph,
                                                        std::span<const FaultSpec> faults);

  void schedule(EventWheel<Happening>& wheel) const;

  // Handles an event of kind kCable. Returns the ports whose NICs must be notified.
  std::span<const PortId> happen(Fabric& fabric, std::uint32_t subject);

  // Whether the switches reroute with this event.
  [[nodiscard]] bool is_reroute(std::uint32_t subject) const {
    return subject % 2 != 0 && faults_[subject / 2].what.kind != FaultKind::kStorm;
  }
  // The ends of the cables that come back with this event.
  [[nodiscard]] std::span<const PortId> brought_up(std::uint32_t subject) const {
    const Fault& fault = faults_[subject / 2];
    const bool up = subject % 2 == 0 && fault.what.kind == FaultKind::kUp;
    return up ? std::span{fault.ends} : std::span<const PortId>{};
  }
  // When cables fail, slow down or come back.
  [[nodiscard]] std::vector<Time> cable_changes() const;

  [[nodiscard]] bool empty() const { return faults_.empty(); }

 private:
  struct Fault {
    FaultSpec what;
    std::vector<CableId> cables;
    std::vector<PortId> ends;  // of all cables; for a storm only the NIC's port
  };
  void begin(Fabric& fabric, const Fault& fault);
  void end(Fabric& fabric, const Fault& fault);

  std::vector<Fault> faults_;
  std::vector<bool> known_down_;  // per cable, as the switches know it
};

}  // namespace nerve::sim
