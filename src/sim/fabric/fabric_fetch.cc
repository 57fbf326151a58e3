// The prefetches of Fabric, for foresight.h.
#include "base/fetch_lines.h"
#include "sim/fabric/fabric.h"

namespace nerve::sim {

void Fabric::fetch(PortId at) const {
  const auto* const port = reinterpret_cast<const std::byte*>(&ports_[at.value()]);
  fetch_lines(port, port + Port::kHot);
}

void Fabric::fetch_way_out(PortId at, PacketId packet) {
  const Port& in = ports_[at.value()];
  const PortId way = predict_egress(in, clock(in).packets[packet]);
  if (way != kNoPort) fetch(way);
  fetch_line(&switches_[in.switch_number]);
}

void Fabric::fetch_queue(PortId at, PacketId id) {
  const Port& in = ports_[at.value()];
  const Packet& packet = clock(in).packets[id];
  switches_[in.switch_number].buffer.fetch(in.local, packet.traffic_class);
  const PortId way = predict_egress(in, packet);
  if (way == kNoPort) return;
  const PacketQueue& queue = ports_[way.value()].queues[packet.traffic_class];
  if (queue.head != kNoPacket) fetch_line(&clock(in).packets[queue.tail]);
}

void Fabric::fetch_next_packet(PortId at) {
  const Port& port = ports_[at.value()];
  const auto turn = port.turn();
  if (turn) fetch_line(&clock(port).packets[port.queues[*turn].head]);
}

void Fabric::fetch_way_in(PortId at) {
  const Port& port = ports_[at.value()];
  const auto turn = port.turn();
  if (!turn) return;
  const PortId in = clock(port).packets[port.queues[*turn].head].ingress;
  fetch_line(&ports_[in.value()]);
  fetch_line(&switches_[port.switch_number]);
}

void Fabric::fetch_memory(PortId at) {
  const Port& port = ports_[at.value()];
  const auto turn = port.turn();
  if (!turn) return;
  const Packet& packet = clock(port).packets[port.queues[*turn].head];
  switches_[port.switch_number].buffer.fetch(ports_[packet.ingress.value()].local,
                                             packet.ingress_class);
}

}  // namespace nerve::sim
