// What a QP with selective repeat keeps besides, one half for each direction, and how a QP that
// offers it begins to use it.
#pragma once

#include "nic/rx_handler/held_packets.h"
#include "nic/wqe_engine/scoreboard.h"

namespace nerve::nic {

struct SelectiveRepeat {
  explicit SelectiveRepeat(std::uint32_t window) : sent{window}, held{window} {}

  Scoreboard sent;
  HeldPackets held;
};

struct Qp;

// The peer has announced selective repeat on a QP that offers it: both halves use it from now on,
// until the QP is reset. What has been sent so far is treated as if nothing had been heard of it.
void begin_selective(Qp& qp, Time now);

}  // namespace nerve::nic
