// Closing a device that is still in use. The structures stay, since the program may yet look at
// them; what they stood for in the engine goes.
#include "verbs/address.h"
#include "verbs/cq.h"
#include "verbs/memory.h"
#include "verbs/pd.h"
#include "verbs/qp.h"
#include "verbs/srq.h"

namespace nerve::verbs {

void destroy_leftovers(VerbsContext& context) {
  {
    Session session{*context.adapter};
    const std::scoped_lock guard{context.live.lock};
    for (const VerbsQp* qp : context.live.qps) (void)session->destroy_qp(qp->handle);
    for (const VerbsSrq* srq : context.live.srqs) (void)session->destroy_srq(srq->handle);
    for (const VerbsCq* cq : context.live.cqs) (void)session->destroy_cq(cq->handle);
    for (const VerbsAh* ah : context.live.ahs) (void)session->destroy_ah(ah->handle);
    for (const VerbsMw* mw : context.live.mws) (void)session->dealloc_mw(mw->handle);
    (void)session.groups_changed();
  }
  for (VerbsXrcd* xrcd : context.live.xrcds) (void)leave_xrcd(*xrcd);
  // Numbers that an imported context shares are closed with the last of them.
  if (context.exports.use_count() > 1) return;
  const std::scoped_lock guard{context.exports->lock};
  const Session session{*context.adapter};
  for (const auto& [number, mr] : context.exports->mrs) (void)session->deregister_mr(mr->handle);
  for (const auto& [number, pd] : context.exports->pds) (void)session->dealloc_pd(pd->handle);
}

}  // namespace nerve::verbs
