// Packet trimming: a data packet for a queue that is full loses its payload instead of being
// dropped. Its header goes on in a higher class, so that the receiver learns of the loss within a
// round trip, however long the queues of data are.
#include <algorithm>

#include "sim/fabric/fabric.h"

namespace nerve::sim {
namespace {

constexpr std::uint32_t kShortestFrame = 64;

}  // namespace

bool Fabric::is_full(const FabricConfig& config, const Port& out, const Packet& packet) {
  const std::uint8_t traffic_class = packet.traffic_class;
  return traffic_class != config.trimmed_class &&
         std::uint64_t{out.queues[traffic_class].bytes} + packet.bytes > config.trim_at;
}

bool Fabric::trim(PortId at, Packet& packet) {
  Port& port = ports_[at.value()];
  const FabricConfig& config = config_of(port);
  const std::uint32_t payload = packet.frame.payload_length + packet.frame.headers.bth.pad;
  const std::uint32_t left = std::max(packet.bytes - payload, kShortestFrame);
  if (packet.traffic_class == config.trimmed_class || left >= packet.bytes) return false;
  packet.frame.trimmed = true;
  packet.frame.payload_length = 0;
  packet.frame.headers.bth.pad = 0;
  packet.piece.length = 0;
  packet.marked = true;
  port.counters.dropped_bytes += packet.bytes - left;
  ++port.counters.trimmed_packets;
  packet.bytes = left;
  packet.traffic_class = config.trimmed_class;
  return true;
}

}  // namespace nerve::sim
