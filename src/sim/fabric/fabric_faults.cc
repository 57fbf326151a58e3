// Cables that fail, come back, slow down or damage packets. None of this is on the path of ordinary
// packets. Every process knows which cables are up; what is queued at a port, only the one that
// runs its part.
#include <algorithm>
#include <array>

#include "sim/fabric/fabric.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kRetryRequest = 64 + 20;  // a short frame, preamble and gap

std::array<PortId, 2> ends_of(CableId cable) {
  return {PortId{2 * cable.value()}, PortId{2 * cable.value() + 1}};
}

}  // namespace

void Fabric::take_down(CableId cable) {
  for (const PortId at : ends_of(cable)) {
    Port& port = ports_[at.value()];
    if (!port.up) return;
    port.up = false;
    ++port.generation;
    if (!is_here(port)) continue;
    unpause(port);
    empty_queues(at);
  }
}

void Fabric::unpause(Port& port) {
  if (port.paused == 0) return;
  port.counters.paused_time_ps +=
      static_cast<std::uint64_t>((clock(port).now() - port.paused_since).count());
  port.paused = 0;
  port.dropping = 0;
}

void Fabric::empty_queues(PortId at) {
  Port& port = ports_[at.value()];
  for (unsigned one = 0; one < kClasses; ++one) {
    while (port.queues[one].head != kNoPacket) discard(at, port.pop(clock(port).packets, one));
  }
}

void Fabric::discard(PortId at, PacketId id) {
  PacketPool& packets = clock(ports_[at.value()]).packets;
  const Packet& packet = packets[id];
  const bool passes = packet.ingress != kNoPort;
  if (passes) release(packet);
  PortCounters& counters = ports_[passes ? packet.ingress.value() : at.value()].counters;
  ++counters.dropped_packets;
  counters.dropped_bytes += packet.bytes;
  packets.give_back(id);
}

void Fabric::bring_up(CableId cable) {
  const Cable& built = graph_.cables[cable.value()];
  slow_down(cable, built.rate);
  damage(cable, 0);
  for (const PortId at : ends_of(cable)) {
    Port& port = ports_[at.value()];
    if (port.up) return;
    port.up = true;
    if (!is_here(port)) continue;
    for (unsigned one = 0; one < kClasses; ++one) resynchronise(at, one);
  }
}

// Both ends resume with the state they would have had without the failure: the sender has credit
// for the free space at its peer, and is paused if the peer's buffer is above its threshold.
void Fabric::resynchronise(PortId at, unsigned traffic_class) {
  Port& port = ports_[at.value()];
  port.credits[traffic_class] = config_of(port).lane_buffer - held_at_peer(port)[traffic_class];
  if (port.switch_number == kNobody || port.kind != LinkKind::kEthernet) return;
  if (switches_[port.switch_number].buffer.pauses(port.local, traffic_class)) {
    send_pause(at, traffic_class, true);
  }
}

Fabric::Held Fabric::held(PortId ingress) const {
  Held bytes{};
  const Port& in = ports_[ingress.value()];
  if (in.switch_number == kNobody) return bytes;
  for (const PortId out : ports_of(in.node)) {
    for (const PacketQueue& queue : ports_[out.value()].queues) {
      for (PacketId id = queue.head; id != kNoPacket; id = clock(in).packets[id].next) {
        const Packet& packet = clock(in).packets[id];
        if (packet.ingress == ingress) bytes[packet.ingress_class] += packet.bytes;
      }
    }
  }
  return bytes;
}

Fabric::Held Fabric::held_at_peer(const Port& port) const {
  if (is_here(ports_[port.peer.value()])) return held(port.peer);
  for (const auto& [at, bytes] : held_elsewhere_) {
    if (at == port.peer) return bytes;
  }
  return {};
}

void Fabric::slow_down(CableId cable, Rate rate) {
  for (const PortId at : ends_of(cable)) {
    ports_[at.value()].rate = rate;
    ports_[at.value()].line = Line{rate};
  }
}

void Fabric::damage(CableId cable, std::uint64_t error_chance) {
  for (const PortId at : ends_of(cable)) {
    Port& port = ports_[at.value()];
    port.error_chance = error_chance;
    port.special = port.lifts || error_chance != 0;
  }
}

bool Fabric::damaged(Port& at, const Packet& packet) const {
  if (at.error_chance == 0) return false;
  if (at.error_chance >= kErrorUnit / packet.bytes) return true;
  if (config_of(at).link_retry) return false;  // it was repeated until it was not
  return at.prng.below(kErrorUnit) < at.error_chance * packet.bytes;
}

// Link-level retry: the receiving end asks for a damaged frame again, and the sending end repeats
// it and all frames behind it. So their order remains, and the cable carries nothing new until the
// repeated frame has left. A cable on which every frame is damaged is not usable: frames are lost.
Duration Fabric::time_of_repeats(Port& port, const Packet& packet) {
  constexpr std::uint32_t kMostRepeats = 1000;
  if (port.error_chance == 0 || port.error_chance >= kErrorUnit / packet.bytes) return {};
  const std::uint64_t chance = port.error_chance * packet.bytes;
  std::uint32_t repeats = 0;
  while (repeats < kMostRepeats && port.prng.below(kErrorUnit) < chance) ++repeats;
  port.counters.link_retries += repeats;
  const Duration round = port.line.time_of(packet.bytes + gap(port)) +
                         port.line.time_of(kRetryRequest) + 2 * port.delay;
  return round * repeats;
}

// With pauses: the lossless classes. With credits: a receiver that returns no credits stops every
// class.
void Fabric::pause_switch(PortId nic, bool begins) {
  const Port& port = ports_[nic.value()];
  if (!is_here(port)) return;
  const unsigned lossless = config_of(port).buffer.lossless;
  const unsigned classes = has_credits(port.kind) ? (1U << kClasses) - 1 : lossless;
  for (unsigned one = 0; one < kClasses; ++one) {
    if ((classes >> one & 1U) != 0) send_pause(nic, one, begins);
  }
}

void Fabric::reroute(const std::vector<bool>& down) { routes_ = Routes{graph_, down}; }

}  // namespace nerve::sim
