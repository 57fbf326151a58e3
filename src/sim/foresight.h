// Prefetches what the next events will touch. A large fabric does not fit in the cache, and most of
// a run would be spent on cache misses.
//
// The addresses depend on each other: a packet determines its egress port, for example. Prefetching
// therefore takes several steps. The first step is furthest ahead of the current event, and each
// step uses what an earlier one has fetched.
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
    if (!clockwork_.wheel.moved()) return;
    clockwork_.wheel.look_ahead(0, 20, [&](const auto& event) { first(event); });
    clockwork_.wheel.look_ahead(1, 16, [&](const auto& event) { second(event); });
    clockwork_.wheel.look_ahead(2, 12, [&](const auto& event) { third(event); });
    clockwork_.wheel.look_ahead(3, 9, [&](const auto& event) { fourth(event); });
    clockwork_.wheel.look_ahead(4, 6, [&](const auto& event) { fifth(event); });
    clockwork_.wheel.look_ahead(5, 3, [&](const auto& event) { sixth(event); });
  }

 private:
  using Coming = Event<Happening>;
  using Fetch = nic::Nic::Fetch;

  // The port and the packet, or the NIC.
  void first(const Coming& event) const;
  // At a switch: the route, or the next packet to leave. At a NIC: the frame and the NIC.
  void second(const Coming& event) const;
  // At a switch: the egress port, or the ingress port of the packet that leaves. At a NIC: the
  // engine.
  void third(const Coming& event) const;
  // The tail of the egress queue and the switch's buffer state; what leads to the QP.
  void fourth(const Coming& event) const;
  // The QP.
  void fifth(const Coming& event) const;
  // The state that the QP points to.
  void sixth(const Coming& event) const;

  // The NIC of an event that is not at a port; null for other events.
  [[nodiscard]] const SimNic* woken_by(const Coming& event) const;
  [[nodiscard]] static bool is_timer(const Coming& event) {
    return event.kind == Happening::kNicTimer;
  }
  void fetch_qp(const Coming& event, const Port& port, Fetch step) const;

  Clockwork& clockwork_;
  Fabric& fabric_;
  const std::vector<std::unique_ptr<SimNic>>& nics_;
};

}  // namespace nerve::sim
