// What a QP with selective repeat keeps besides, one half for each direction. Others have none.
#pragma once

#include "nic/rx_handler/held_packets.h"
#include "nic/wqe_engine/scoreboard.h"

namespace nerve::nic {

struct SelectiveRepeat {
  explicit SelectiveRepeat(std::uint32_t window) : sent{window}, held{window} {}

  Scoreboard sent;
  HeldPackets held;
};

}  // namespace nerve::nic
