// Multicast groups of UD queue pairs.
#include "verbs/address.h"
#include "verbs/qp.h"

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

// Ethernet has no LIDs: the group's number there says nothing.
int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) VERBS_NOEXCEPT {
  VerbsQp& mine = ours(qp);
  const auto attached = Session(*mine.adapter)->attach_mcast(mine.handle, gid_of(*gid));
  return attached ? 0 : refused(*qp, attached.error());
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) VERBS_NOEXCEPT {
  VerbsQp& mine = ours(qp);
  const auto detached = Session(*mine.adapter)->detach_mcast(mine.handle, gid_of(*gid));
  return detached ? 0 : refused(*qp, detached.error());
}

}  // extern "C"
