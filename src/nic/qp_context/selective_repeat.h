// The additional state of a QP with selective repeat, one half for each direction, and the switch
// to selective repeat on a QP that offers it.
#pragma once

#include "nic/qp_context/held_packets.h"
#include "nic/qp_context/scoreboard.h"
#include "nic/qp_context/ultra_ethernet.h"

namespace nerve::nic {

struct SelectiveRepeat {
  explicit SelectiveRepeat(std::uint32_t window) : sent{window}, held{window} {}

  Scoreboard sent;
  HeldPackets held;
  std::unique_ptr<UltraEthernet> ultra;  // null: no part of Ultra Ethernet is used
};

struct Qp;

// The peer has announced selective repeat on a QP that offers it: both directions use it until the
// QP is reset. Packets sent so far count as not reported.
void begin_selective(Qp& qp, Time now);

}  // namespace nerve::nic
