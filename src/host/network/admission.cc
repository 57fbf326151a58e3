// Which frames an exchange accepts for a QP: only those that came by the path its peer uses.
#include "host/network/exchange.h"

namespace nerve::host {

// A process that has opened a ring to us sends all its frames for us there, unless it was told to
// use UDP; its answer to our own ring says so. As long as one of the two rings does not exist, it
// may still send by UDP.
bool Exchange::sends_through_ring(const wire::Gid& gid, std::uint32_t slot) const {
  if (slot == own_slot_) return own_ && transport_ != Transport::kUdp && is_local(gid);
  const OutgoingRing* const to = by_slot_[slot];
  return to != nullptr && !to->peer_is_udp_only() && has_incoming_[slot] && is_local(gid);
}

bool Exchange::may_come_from(const wire::Gid& peer, std::uint32_t slot) const {
  if (origin_ == own_slot_) return true;
  if (sends_through_ring(peer, slot)) return origin_ == slot;
  return origin_ == kNetwork || reads_our_socket(origin_) || (origin_ == slot && is_local(peer));
}

bool Exchange::may_come_from(std::uint32_t slot) const {
  return origin_ == own_slot_ || origin_ == kNetwork || origin_ == slot || slot == 0 ||
         reads_our_socket(origin_);
}

}  // namespace nerve::host
