#include "sim/foresight.h"

#include "base/fetch_lines.h"

namespace nerve::sim {

const SimNic* Foresight::woken_by(const Coming& event) const {
  const bool wakes = event.kind == Happening::kNicTimer || event.kind == Happening::kPost;
  return wakes ? nics_[event.subject].get() : nullptr;
}

void Foresight::first(const Coming& event) const {
  if (const SimNic* const nic = woken_by(event)) {
    return is_timer(event) ? nic->fetch_timer() : nic->fetch();
  }
  if (event.kind > Happening::kPortFree) return;
  fabric_.fetch(PortId{event.subject});
  if (event.kind == Happening::kArrive) {
    fetch_line(&clockwork_.packets[PacketId{event.argument}]);
  }
}

void Foresight::second(const Coming& event) const {
  if (const SimNic* const nic = woken_by(event)) {
    return nic->engine().fetch(is_timer(event) ? Fetch::kTimers : Fetch::kEngine);
  }
  if (event.kind > Happening::kPortFree) return;
  const PortId at{event.subject};
  const Port& port = fabric_.port(at);
  const PacketId packet{event.argument};
  if (port.switch_number == kNobody) {
    if (const SimNic* const nic = nics_[port.node.value()].get()) nic->fetch();
    if (event.kind == Happening::kArrive) {
      const wire::Frame& frame = clockwork_.packets[packet].frame;
      fetch_lines(&frame, &frame + 1);
    }
  } else if (event.kind == Happening::kArrive) {
    fabric_.routes().fetch(port.node, clockwork_.packets[packet].destination);
  } else {
    fabric_.fetch_next_packet(at);
  }
}

void Foresight::third(const Coming& event) const {
  if (const SimNic* const nic = woken_by(event)) {
    return nic->engine().fetch(is_timer(event) ? Fetch::kFirstTimer : Fetch::kQp);
  }
  if (event.kind > Happening::kPortFree) return;
  const PortId at{event.subject};
  const Port& port = fabric_.port(at);
  if (port.switch_number == kNobody) {
    if (const SimNic* const nic = nics_[port.node.value()].get())
      nic->engine().fetch(Fetch::kEngine);
  } else if (event.kind == Happening::kArrive) {
    fabric_.fetch_way_out(at, PacketId{event.argument});
  } else {
    fabric_.fetch_way_in(at);
  }
}

void Foresight::fourth(const Coming& event) const {
  if (const SimNic* const nic = woken_by(event)) {
    return nic->engine().fetch(is_timer(event) ? Fetch::kTimerQp : Fetch::kWork);
  }
  if (event.kind > Happening::kPortFree) return;
  const PortId at{event.subject};
  const Port& port = fabric_.port(at);
  if (port.switch_number == kNobody) {
    if (event.kind == Happening::kArrive) fetch_qp(event, port, Fetch::kWayToQp);
  } else if (event.kind == Happening::kArrive) {
    fabric_.fetch_queue(at, PacketId{event.argument});
  } else {
    fabric_.fetch_memory(at);
  }
}

void Foresight::fifth(const Coming& event) const {
  if (is_timer(event)) return nics_[event.subject]->engine().fetch(Fetch::kTimerWork);
  if (event.kind > Happening::kPortFree) return;
  const Port& port = fabric_.port(PortId{event.subject});
  if (port.switch_number == kNobody) fetch_qp(event, port, Fetch::kQp);
}

void Foresight::sixth(const Coming& event) const {
  if (event.kind > Happening::kPortFree) return;
  const Port& port = fabric_.port(PortId{event.subject});
  if (port.switch_number == kNobody) fetch_qp(event, port, Fetch::kWork);
}

void Foresight::fetch_qp(const Coming& event, const Port& port, Fetch step) const {
  const SimNic* const nic = nics_[port.node.value()].get();
  if (nic == nullptr) return;
  if (event.kind == Happening::kPortFree) return nic->engine().fetch(step);
  const wire::Frame& frame = clockwork_.packets[PacketId{event.argument}].frame;
  nic->engine().fetch(step, frame.headers.bth);
}

}  // namespace nerve::sim
