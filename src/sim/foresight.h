// What events that come soon will touch, into the cache: a large fabric does not fit there, and
// most of a run's time would go in waiting for it.
//
// One thing leads to another, as a packet to the port by which it will leave. So there are steps,
// the first some events ahead of the last, and each follows what an earlier one has fetched.
#pragma once

#include <memory>
#include <vector>

#include "sim/core/clockwork.h"
#include "sim/fabric/fabric.h"
#include "sim/host/sim_nic.h"

namespace nerve::sim {

class Foresight {
 public:
  Foresight(Clockwork& clockwork, Fabric& fabric, const std::vector<std::unique_ptr<SimNic>>& nics)
      : clockwork_{clockwork}, fabric_{fabric}, nics_{nics} {}

  void look() {
    clockwork_.wheel.look_ahead(0, 20, [&](const auto& event) { first(event); });
    clockwork_.wheel.look_ahead(1, 15, [&](const auto& event) { second(event); });
    clockwork_.wheel.look_ahead(2, 10, [&](const auto& event) { third(event); });
    clockwork_.wheel.look_ahead(3, 6, [&](const auto& event) { fourth(event); });
    clockwork_.wheel.look_ahead(4, 3, [&](const auto& event) { fifth(event); });
  }

 private:
  using Coming = Event<Happening>;
  using Fetch = nic::Nic::Fetch;

  // The port and the packet; or the NIC.
  void first(const Coming& event) const;
  // The way out of a switch, or the packet that leaves it; the whole packet and the NIC; the
  // engine.
  void second(const Coming& event) const;
  // The port by which it leaves, or came; the engine.
  void third(const Coming& event) const;
  // The end of the queue there, and the switch's memory; the QP.
  void fourth(const Coming& event) const;
  // What the QP refers to.
  void fifth(const Coming& event) const;

  void fetch_qp(const Coming& event, const Port& port, Fetch step) const;

  Clockwork& clockwork_;
  Fabric& fabric_;
  const std::vector<std::unique_ptr<SimNic>>& nics_;
};

}  // namespace nerve::sim
