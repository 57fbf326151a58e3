// The MSNs of answers, by which forged ones are recognised.
//
// A responder counts the messages that it has completed, from zero, and each AETH carries the count
// (IBTA 9.7.7.1). So the MSN of an answer to an outstanding packet lies between the number of
// messages that are acknowledged and the number of those that were begun, whatever was lost,
// duplicated or reordered in between: a responder counts in order, and what acknowledges a packet
// was sent after the packets before it had been counted. Whether a READ counts when it arrives or
// when it has been answered makes no difference to these limits. A stranger who forges an answer
// has to guess the MSN in addition to the PSN.
//
// Some peer may not count as the standard says, or may not have started from zero with us. Then the
// first ACK of a message shows it, and its MSNs are not checked: the QP is as easy to attack as
// without them, but it works. A NAK is checked from the beginning.
#pragma once

#include <cstdint>

#include "base/planted.h"

namespace nerve::nic {

// Whether an MSN lies between the last message acknowledged and the last one begun, the one before
// `next`. Message numbers live on the same ring as PSNs.
[[nodiscard]] inline bool msn_fits(std::uint32_t acknowledged, std::uint32_t next,
                                   std::uint32_t msn) {
  if (planted(Bug::kMsnNotCompared)) return true;
  std::uint32_t begun = (next - 1 - acknowledged) & 0xff'ffffU;
  if (planted(Bug::kMsnWindowOneShort) && begun > 0) --begun;
  return ((msn - acknowledged) & 0xff'ffffU) <= begun;
}

}  // namespace nerve::nic
