// Protection domains: regions, windows and QPs must share one to work together.
#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {

DmaEngine::DmaEngine(const Limits& limits, const SipKey& key_secret, DirectPath* direct_path,
                     Pager* pager, LateMemory* late)
    : late_{late},
      pager_{pager},
      keys_{key_secret},
      direct_path_{direct_path},
      pds_{limits.max_pd},
      regions_{limits.max_mr},
      windows_{limits.max_mw} {}

Expected<PdHandle> DmaEngine::alloc_pd() {
  if (pds_.full()) return refuse(ErrorCode::kLimit, "alloc pd: too many domains", pds_.size());
  return pds_.emplace().first;
}

Status DmaEngine::dealloc_pd(PdHandle pd) {
  const Pd* found = pds_.find(pd);
  if (found == nullptr) return refuse(ErrorCode::kNoSuchObject, "dealloc pd: no such domain");
  if (found->users > 0) {
    return refuse(ErrorCode::kBusy, "dealloc pd: objects still belong to it", found->users);
  }
  pds_.erase(pd);
  return Done{};
}

bool DmaEngine::retain_pd(PdHandle pd) {
  Pd* found = pds_.find(pd);
  if (found == nullptr) return false;
  ++found->users;
  return true;
}

void DmaEngine::release_pd(PdHandle pd) {
  Pd* found = pds_.find(pd);
  CHECK(found != nullptr && found->users > 0);
  --found->users;
}

}  // namespace nerve::nic
