// Memory windows: allocation. Binding is a work request (post.cc).
#include <cerrno>
#include <memory>
#include <new>

#include "verbs/memory.h"
#include "verbs/pd.h"

namespace nerve::verbs {

ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept {
  if (const int error = check_live(pd); error != 0) return none(error);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return none(EINVAL);
  auto made = std::unique_ptr<VerbsMw>{new (std::nothrow) VerbsMw};
  if (!made) return none(ENOMEM);
  ours(pd->context).adapter->join_shards();
  const Session session{*ours(pd->context).adapter, Session::For::kObjects};
  const auto handle = session->alloc_mw(ours(pd).handle, static_cast<nic::MwType>(type));
  if (!handle) return none(refused(pd->context, handle.error()));
  made->handle = *handle;
  made->mw = {.context = pd->context,
              .pd = pd,
              .rkey = session->rkey_of(*handle)->value(),
              .handle = handle->index,
              .type = type};
  add_live(made->mw);
  return &made.release()->mw;
}

int dealloc_mw(ibv_mw* mw) noexcept {
  if (const int error = check_live(mw); error != 0) return fail(error);
  const auto gone =
      Session(*ours(mw->context).adapter, Session::For::kObjects)->dealloc_mw(ours(mw).handle);
  if (!gone) return refused(mw->context, gone.error());
  remove_live(mw);
  free_later(ours(mw));
  return 0;
}

}  // namespace nerve::verbs
