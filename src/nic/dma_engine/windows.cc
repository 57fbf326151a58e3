// Memory windows (IBTA 10.6.7; ibv_alloc_mw, ibv_bind_mw): a second, narrower key to part of a
// region, bound and invalidated by work requests instead of control calls.
//
// Type 1 belongs to a protection domain and may be bound again at any time. Type 2 is the
// standard's type 2B: it belongs to the QP that bound it, and must be invalidated before it is
// bound again.
#include "base/planted.h"
#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {
namespace {

using enum Access;

constexpr Access kWindowRights =
    kRemoteWrite | kRemoteRead | kRemoteAtomic | kFlushGlobal | kFlushPersistent | kZeroBased;

// The consumer chooses the low 8 bits of a window's key; the other 24 identify the window and do
// not change (IBTA 10.6.7.2). As on hardware, a bind request's value for them is ignored.
constexpr std::uint32_t with_variant(std::uint32_t key, RKey wanted) {
  constexpr std::uint32_t kVariant = 0xff;
  return (key & ~kVariant) | (wanted.value() & kVariant);
}

}  // namespace

Expected<MwHandle> DmaEngine::alloc_window(PdHandle pd, MwType type) {
  if (type != MwType::kType1 && type != MwType::kType2) {
    return refuse(ErrorCode::kInvalid, "mw: unknown type", static_cast<std::uint64_t>(type));
  }
  if (windows_.full() || keys_.full()) {
    return refuse(ErrorCode::kLimit, "mw: too many windows", windows_.size());
  }
  if (!retain_pd(pd)) return refuse(ErrorCode::kNoSuchObject, "mw: no such domain");
  const auto [handle, window] = windows_.emplace();
  window.pd = pd;
  window.type = type;
  window.key = keys_.claim(GrantKind::kWindow);
  keys_.owned(window.key).window = handle.index;
  return handle;
}

Status DmaEngine::dealloc_window(MwHandle mw) {
  MemoryWindow* window = windows_.find(mw);
  if (window == nullptr) return refuse(ErrorCode::kNoSuchObject, "dealloc mw: no such window");
  unbind(*window);
  keys_.release(window->key);
  release_pd(window->pd);
  windows_.erase(mw);
  return Done{};
}

Expected<RKey> DmaEngine::rkey_of(MwHandle mw) const {
  const MemoryWindow* window = windows_.find(mw);
  if (window == nullptr) return refuse(ErrorCode::kNoSuchObject, "mw: no such window");
  return RKey{window->key};
}

bool DmaEngine::may_bind(const MemoryWindow& window, const MwBind& bind, RemoteAccessor by) const {
  if (window.pd != by.pd) return false;  // C10-72
  const bool type_1 = window.type == MwType::kType1;
  if (!type_1 || bind.new_rkey != RKey{}) {
    // A peer that holds the key of the previous bind would hold a valid key again.
    const bool same = with_variant(window.key, bind.new_rkey) == window.key;
    if (same && window.key_was_bound) return false;
  }
  if (type_1 && bind.length == 0) return true;
  if (type_1 && contains(bind.access, kZeroBased)) return false;  // o10-36.2.2
  if (!type_1 && window.region) return false;                     // o10-37.2.30: invalidate first
  if (bind.length == 0) return false;  // o10-37.2.40: type 2 can only be invalidated
  if (without(bind.access, kWindowRights) != kNone) return false;

  const MemoryRegion* region = regions_.find(bind.region);
  if (region == nullptr || region->init.pd != window.pd) return false;
  const Access allowed = region->init.access;
  if (!contains(allowed, kMwBind)) return false;  // C10-73
  // C10-74. The region's own remote rights do not matter: a window may grant more than the region's
  // rkey.
  if (intersects(bind.access, kRemoteWrite | kRemoteAtomic) && !contains(allowed, kLocalWrite)) {
    return false;
  }
  const Grant* grant = keys_.find(region->key);
  CHECK(grant != nullptr);
  return grant->covers(bind.address, bind.length);  // C10-75
}

Result<RKey, WcStatus> DmaEngine::bind(const MwBind& bind, RemoteAccessor by) {
  MemoryWindow* window = windows_.find(bind.window);
  if (window == nullptr || !may_bind(*window, bind, by)) return Unexpected{WcStatus::kMwBind};

  unbind(*window);
  const bool engine_chooses = window->type == MwType::kType1 && bind.new_rkey == RKey{};
  window->key =
      engine_chooses ? keys_.next_variant(window->key) : with_variant(window->key, bind.new_rkey);
  window->key_was_bound = bind.length > 0;
  if (bind.length == 0) return RKey{window->key};

  MemoryRegion* region = regions_.find(bind.region);
  ++region->bound_windows;
  window->region = bind.region;

  const Grant& whole = keys_.owned(region->key);
  Grant& grant = keys_.owned(window->key);
  grant.start = contains(bind.access, kZeroBased) ? 0 : bind.address;
  grant.length = bind.length;
  grant.shift = whole.shift + (bind.address - grant.start);
  grant.port = whole.port;
  grant.pd = window->pd;
  // Whether pages may be missing is the region's business.
  const Access rights = bind.access | (whole.access & kOnDemand);
  grant.allow(planted(Bug::kWindowGivesAtomics) ? rights | kRemoteAtomic : rights);
  grant.qpn = kAnyQp;
  if (window->type == MwType::kType2) {
    grant.qpn = by.qpn.value();
    ++bound_to_qps_;
  }
  grant.set_key(window->key);
  return RKey{window->key};
}

bool DmaEngine::can_invalidate(RKey rkey, RemoteAccessor by) const {
  const Grant* grant = keys_.find(rkey.value());
  // Only type 2 windows are bound to a QP; regions and type 1 windows cannot be invalidated
  // (o10-37.2.26).
  return grant != nullptr && grant->pd == by.pd && grant->qpn == by.qpn.value();
}

bool DmaEngine::invalidate(RKey rkey, RemoteAccessor by) {
  if (!can_invalidate(rkey, by)) return false;
  unbind(*windows_.at(keys_.owned(rkey.value()).window));
  return true;
}

void DmaEngine::unbind_windows_of(Qpn qpn) {
  if (bound_to_qps_ == 0) return;
  windows_.for_each([&](MemoryWindow& window) {
    if (window.region && keys_.owned(window.key).qpn == qpn.value()) unbind(window);
  });
}

// The window keeps its key, which grants no access.
void DmaEngine::unbind(MemoryWindow& window) {
  if (!window.region) return;
  MemoryRegion* region = regions_.find(window.region);
  CHECK(region != nullptr && region->bound_windows > 0);
  --region->bound_windows;
  window.region = {};
  if (window.type == MwType::kType2) --bound_to_qps_;
  if (planted(Bug::kUnbindKeepsKey) && window.type == MwType::kType1) return;
  keys_.revoke(window.key);
}

}  // namespace nerve::nic
