// Closing a device that is still in use. The verbs structures stay, because the program may still
// access them; their engine objects are destroyed.
#include "verbs/address.h"
#include "verbs/cq.h"
#include "verbs/gpu_region.h"
#include "verbs/memory.h"
#include "verbs/pd.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

namespace nerve::verbs {

void destroy_leftovers(VerbsContext& context) {
  const std::vector<LiveObject> left = remove_live_of(&context.face.context);
  const auto for_each = [&](ObjectKind kind, auto destroy) {
    for (const LiveObject& one : left) {
      if (one.kind == kind) destroy(one.object);
    }
  };
  {
    // QPs first, each in its shard, because they use the other objects.
    for_each(ObjectKind::kQp, [&](void* qp) {
      const VerbsQp& mine = ours(static_cast<ibv_qp*>(qp));
      Session session{*context.adapter, mine.shard, Session::For::kObjects};
      (void)session->destroy_qp(mine.handle);
      session.follow_seal(Qpn{static_cast<ibv_qp*>(qp)->qp_num}, nic::QpState::kReset);
      if (mine.datagram) (void)session.groups_changed();
    });
    const Session session{*context.adapter, Session::For::kAll};
    for_each(ObjectKind::kSrq, [&](void* srq) {
      (void)session->destroy_srq(ours(static_cast<ibv_srq*>(srq)).handle);
    });
    for_each(ObjectKind::kCq,
             [&](void* cq) { (void)session->destroy_cq(ours(static_cast<ibv_cq*>(cq)).handle); });
    for_each(ObjectKind::kAh,
             [&](void* ah) { (void)session->destroy_ah(ours(static_cast<ibv_ah*>(ah)).handle); });
    for_each(ObjectKind::kMw,
             [&](void* mw) { (void)session->dealloc_mw(ours(static_cast<ibv_mw*>(mw)).handle); });
  }
  for_each(ObjectKind::kSrq,
           [&](void* srq) { context.adapter->unplace(ours(static_cast<ibv_srq*>(srq)).shard); });
  for_each(ObjectKind::kCq,
           [&](void* cq) { context.adapter->unplace(ours(static_cast<ibv_cq*>(cq)).shard); });
  for_each(ObjectKind::kXrcd, [&](void* xrcd) {
    (void)leave_xrcd(*context.adapter, ours(static_cast<ibv_xrcd*>(xrcd)));
  });
  // Objects that imported contexts share are destroyed with the last of those contexts.
  if (context.exports.use_count() > 1) return;
  const std::scoped_lock guard{context.exports->lock};
  {
    const Session session{*context.adapter, Session::For::kAll};
    for (const auto& [number, mr] : context.exports->mrs) (void)session->deregister_mr(mr->handle);
    for (const auto& [number, pd] : context.exports->pds) (void)session->dealloc_pd(pd->handle);
  }
  for (const auto& [number, mr] : context.exports->mrs) mr->gpu.reset();
}

}  // namespace nerve::verbs
