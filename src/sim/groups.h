// The groups of nodes that cannot affect each other within a window, for the order in which a part
// takes its events (EventWheel::open_window).
//
// What happens at one end of a cable reaches the other end no sooner than the cable's delay. So a
// group is a node, or the nodes that cables shorter than a window connect.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/time.h"
#include "sim/core/clockwork.h"
#include "sim/fabric/graph.h"

namespace nerve::sim {

class Groups {
 public:
  Groups(const Graph& graph, Duration window, std::span<const std::uint16_t> part_of_node);

  // The groups of each part are numbered from zero.
  [[nodiscard]] std::uint32_t count(std::size_t part) const { return count_[part]; }
  // The group of an event, from its kind and subject.
  [[nodiscard]] std::uint32_t of(Happening kind, std::uint32_t subject) const {
    constexpr std::uint32_t kAtNodes = 1U << static_cast<unsigned>(Happening::kNicTimer) |
                                       1U << static_cast<unsigned>(Happening::kNicPacket) |
                                       1U << static_cast<unsigned>(Happening::kPost);
    const bool at_node = (kAtNodes >> static_cast<unsigned>(kind) & 1U) != 0;
    return of_[subject + (at_node ? ports_ : 0)];
  }

 private:
  std::uint32_t ports_;
  std::vector<std::uint32_t> of_;     // per port, then per node
  std::vector<std::uint32_t> count_;  // per part
};

}  // namespace nerve::sim
