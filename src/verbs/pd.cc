#include "verbs/pd.h"

#include <cerrno>
#include <new>

namespace nerve::verbs {
namespace {

// The counts of a domain are guarded by its context's mutex, as in a provider.
class Counts {
 public:
  explicit Counts(ibv_context* context) : mutex_{context->mutex} { ::pthread_mutex_lock(&mutex_); }
  ~Counts() { ::pthread_mutex_unlock(&mutex_); }
  Counts(const Counts&) = delete;
  Counts& operator=(const Counts&) = delete;

 private:
  pthread_mutex_t& mutex_;
};

int dealloc_parent_domain(VerbsPd& domain) {
  const Counts guard{domain.pd.context};
  if (domain.children > 0) return fail(EBUSY);
  --domain.parent->children;
  if (domain.td != nullptr) --domain.td->users;
  remove_live(&domain);
  free_later(domain);
  return 0;
}

}  // namespace

// A thread domain promises that only one thread uses its objects. The engine locks in any case, so
// the promise has no effect.
ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) noexcept {
  if (const int error = check_live(context); error != 0) return none(error);
  if (attr->comp_mask != 0) return none(EOPNOTSUPP);
  auto* td = new (std::nothrow) VerbsTd;
  if (td == nullptr) return none(ENOMEM);
  td->td.context = context;
  add_live(td->td);
  return &td->td;
}

int dealloc_td(ibv_td* td) noexcept {
  if (const int error = check_live(td); error != 0) return fail(error);
  VerbsTd& mine = *reinterpret_cast<VerbsTd*>(td);
  const Counts guard{td->context};
  if (mine.users > 0) return fail(EBUSY);
  remove_live(td);
  free_later(mine);
  return 0;
}

ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) noexcept {
  if (const int error = check_live(context); error != 0) return none(error);
  if (attr->pd == nullptr) return none(EINVAL);
  if (const int error = check_live(attr->pd); error != 0) return none(error);
  if (const int error = check_live_or_null(attr->td); error != 0) return none(error);
  // An allocator offers memory for queues. Our queues are not in memory that a program can provide,
  // so it is never called.
  constexpr std::uint32_t kKnown =
      IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if ((attr->comp_mask & ~kKnown) != 0) return none(EOPNOTSUPP);
  auto* domain = new (std::nothrow) VerbsPd;
  if (domain == nullptr) return none(ENOMEM);
  VerbsPd& parent = ours(attr->pd);
  domain->pd = {.context = context, .handle = attr->pd->handle};
  domain->handle = parent.handle;
  domain->parent = &parent;
  domain->td = reinterpret_cast<VerbsTd*>(attr->td);
  const Counts guard{context};
  ++parent.children;
  if (domain->td != nullptr) ++domain->td->users;
  add_live(domain->pd);
  return &domain->pd;
}

}  // namespace nerve::verbs

using namespace nerve;
using namespace nerve::verbs;

extern "C" {

ibv_pd* ibv_alloc_pd(ibv_context* context) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) return none(error);
  VerbsContext& owner = ours(context);
  auto made = std::unique_ptr<VerbsPd>{new (std::nothrow) VerbsPd};
  if (!made) return none(ENOMEM);
  const auto handle = Session(*owner.adapter, Session::For::kMemory)->alloc_pd();
  if (!handle) return none(refused(context, handle.error()));
  made->handle = *handle;
  made->pd = {.context = context, .handle = handle->index};
  const std::scoped_lock guard{owner.exports->lock};
  owner.exports->pds[handle->index] = made.get();
  add_live(made->pd);
  return &made.release()->pd;
}

int ibv_dealloc_pd(ibv_pd* pd) VERBS_NOEXCEPT {
  if (const int error = check_live(pd); error != 0) return fail(error);
  VerbsPd& domain = ours(pd);
  if (domain.parent != nullptr) return dealloc_parent_domain(domain);
  VerbsContext& owner = ours(pd->context);
  {
    const Counts guard{pd->context};
    if (domain.children > 0) return fail(EBUSY);
  }
  const std::scoped_lock guard{owner.exports->lock};
  const auto gone = Session(*owner.adapter, Session::For::kMemory)->dealloc_pd(domain.handle);
  if (!gone) return refused(pd->context, gone.error());
  owner.exports->pds.erase(pd->handle);
  remove_live(pd);
  free_later(domain);
  return 0;
}

ibv_pd* ibv_import_pd(ibv_context* context, uint32_t handle) VERBS_NOEXCEPT {
  if (const int error = check_live(context); error != 0) return none(error);
  Exports& exports = *ours(context).exports;
  const std::scoped_lock guard{exports.lock};
  const auto found = exports.pds.find(handle);
  if (found == exports.pds.end()) return none(ENOENT);
  auto* imported = new (std::nothrow) VerbsPd;
  if (imported == nullptr) return none(ENOMEM);
  imported->pd = {.context = context, .handle = handle};
  imported->handle = found->second->handle;
  add_live(imported->pd);
  return &imported->pd;
}

void ibv_unimport_pd(ibv_pd* pd) VERBS_NOEXCEPT {
  if (check_live(pd) != 0) return;
  remove_live(pd);
  free_later(ours(pd));
}

}  // extern "C"
