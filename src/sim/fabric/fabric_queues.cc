// What reports want to know of queues.
#include <algorithm>

#include "sim/fabric/fabric.h"

namespace nerve::sim {

std::uint32_t Fabric::flows_queued(PortId at) const {
  const Port& port = ports_[at.value()];
  PacketPool& packets = clock(port).packets;
  constexpr std::size_t kMost = 256;
  std::vector<std::uint32_t> hashes;
  for (const PacketQueue& queue : port.queues) {
    for (PacketId id = queue.head; id != kNoPacket && hashes.size() < kMost;
         id = packets[id].next) {
      hashes.push_back(packets[id].flow_hash);
    }
  }
  std::ranges::sort(hashes);
  return static_cast<std::uint32_t>(std::unique(hashes.begin(), hashes.end()) - hashes.begin());
}

}  // namespace nerve::sim
