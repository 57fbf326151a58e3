// What befalls cables, and when: the faults of a scenario, found in its graph and put on the wheel.
//
// A cable that fails loses what is on it and what waits at its ends, at once. Switches send around
// it after the fault's `reroute`, as they do when it comes back; until then what they choose it for
// is dropped, unless they choose by queue and see that it is down. A NIC with another port uses
// that one at once.
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

  // Finds the cables by the names of their ends: all cables between the two. The reason there is
  // none: a name that no node has (with the nearest that one has), two nodes without a cable, a
  // value that makes no sense.
  [[nodiscard]] static Result<Faults, std::string> find(const Graph& graph,
                                                        std::span<const FaultSpec> faults);

  void schedule(Clockwork& clockwork) const;

  // Of an event of the kind kCable: its subject. Returns the ports whose nodes should know.
  std::span<const PortId> happen(Fabric& fabric, std::uint32_t subject);

  [[nodiscard]] bool empty() const { return faults_.empty(); }

 private:
  struct Fault {
    FaultSpec what;
    std::vector<CableId> cables;
    std::vector<PortId> ends;  // of all of them; of a storm, the NIC's alone
  };
  void begin(Fabric& fabric, const Fault& fault);
  void end(Fabric& fabric, const Fault& fault);

  std::vector<Fault> faults_;
  std::vector<bool> known_down_;  // of each cable: switches have heard of it
};

}  // namespace nerve::sim
