// How a switch chooses among equal-cost ports.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/prng.h"
#include "base/time.h"
#include "sim/core/packet.h"
#include "sim/fabric/port.h"

namespace nerve::sim {

// Two multiplications and two shifts: the same on every machine, and as uniform as a switch's CRC.
[[nodiscard]] constexpr std::uint32_t mix(std::uint32_t flow_hash, std::uint32_t salt) {
  std::uint64_t z = (std::uint64_t{flow_hash} << 32U | salt) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 29U)) * 0xbf58476d1ce4e5b9ULL;
  return static_cast<std::uint32_t>(z >> 32U);
}

// The flowlets that a switch remembers. The table has a fixed size, as in hardware: two flows with
// the same entry take the same port.
class FlowletTable {
 public:
  FlowletTable(Duration gap, bool used) : gap_{gap}, entries_(used ? kEntries : 0) {}

  // Returns the port used last. Takes `fresh` instead if the flow has been idle for the gap, or if
  // that port does not lead to the destination (two flows with the same entry may differ in it).
  PortId choose(std::uint32_t flow_hash, std::span<const PortId> ways, PortId fresh, Time now) {
    Entry& entry = entries_[mix(flow_hash, 0) % kEntries];
    if (now - entry.last > gap_ || std::ranges::find(ways, entry.way) == ways.end()) {
      entry.way = fresh;
    }
    entry.last = now;
    return entry.way;
  }

 private:
  static constexpr std::uint32_t kEntries = 1024;
  struct Entry {
    PortId way{kNoPort};
    Time last{};
  };
  Duration gap_;
  std::vector<Entry> entries_;
};

// The port with the fewest queued bytes. Ties are broken at random, to spread load evenly. A port
// that is down is chosen only when all are.
[[nodiscard]] inline PortId emptiest(std::span<const PortId> ways, std::span<const Port> ports,
                                     Prng& prng) {
  const auto load = [&](PortId way) {
    const Port& port = ports[way.value()];
    return port.up ? port.queued : ~std::uint32_t{0};
  };
  const std::size_t start = prng.below(ways.size());
  PortId best = ways[start];
  for (std::size_t i = 1; i < ways.size(); ++i) {
    const PortId way = ways[(start + i) % ways.size()];
    if (load(way) < load(best)) best = way;
  }
  return best;
}

}  // namespace nerve::sim
