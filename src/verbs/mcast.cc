// Multicast groups of UD queue pairs.
#include "verbs/address.h"
#include "verbs/qp.h"

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

// RoCE has no LIDs, so the group's LID is ignored.
int ibv_attach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) VERBS_NOEXCEPT {
  if (const int error = check_live(qp); error != 0) return fail(error);
  VerbsQp& mine = ours(qp);
  Session session{*mine.adapter, mine.shard, Session::For::kControl};
  const auto attached = session->attach_mcast(mine.handle, gid_of(*gid));
  if (!attached) return refused(*qp, attached.error());
  const int error = session.groups_changed();
  if (error != 0) (void)session->detach_mcast(mine.handle, gid_of(*gid));
  return error;
}

int ibv_detach_mcast(ibv_qp* qp, const ibv_gid* gid, uint16_t /*lid*/) VERBS_NOEXCEPT {
  if (const int error = check_live(qp); error != 0) return fail(error);
  VerbsQp& mine = ours(qp);
  Session session{*mine.adapter, mine.shard, Session::For::kControl};
  const auto detached = session->detach_mcast(mine.handle, gid_of(*gid));
  if (!detached) return refused(*qp, detached.error());
  (void)session.groups_changed();
  return 0;
}

}  // extern "C"
