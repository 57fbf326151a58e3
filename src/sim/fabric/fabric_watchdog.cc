// The PFC watchdog of switches: a queue that has been paused for too long drops its packets until
// it is resumed, so that a receiver which never resumes does not stop the rest of the network.
#include "sim/fabric/fabric.h"

namespace nerve::sim {

void Fabric::watch(PortId at, unsigned traffic_class) {
  const Port& port = ports_[at.value()];
  const Duration patience = config_of(port).pfc_watchdog;
  if (patience == Duration{} || port.switch_number == kNobody) return;
  if (port.kind != LinkKind::kEthernet) return;
  paused_at_[at.value()][traffic_class] = clock(port).now();
  clock(port).wheel.after(patience, Happening::kWatchdog, at.value(), traffic_class);
}

// Each pause schedules one of these; it counts if that pause still lasts.
void Fabric::watchdog(PortId at, unsigned traffic_class) {
  Port& port = ports_[at.value()];
  const auto bit = static_cast<std::uint8_t>(1U << traffic_class);
  const Time due = paused_at_[at.value()][traffic_class] + config_of(port).pfc_watchdog;
  if ((port.paused & bit) == 0 || (port.dropping & bit) != 0 || due != clock(port).now()) return;
  port.dropping |= bit;
  ++port.counters.watchdog_trips;
  while (port.queues[traffic_class].head != kNoPacket) {
    discard(at, port.pop(clock(port).packets, traffic_class));
  }
}

}  // namespace nerve::sim
