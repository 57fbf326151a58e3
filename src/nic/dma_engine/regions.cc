// Registration of memory (IBTA 10.6; ibv_reg_mr, ibv_rereg_mr).
#include "base/planted.h"
#include "nic/dma_engine/dma_engine.h"

namespace nerve::nic {
namespace {

using enum Access;

// Bits 20 to 29 are hints by definition (IBV_ACCESS_OPTIONAL_RANGE): a device ignores those it does
// not know.
constexpr auto kOptional = static_cast<Access>(0x3ff0'0000U);
constexpr Access kKnown = kLocalWrite | kRemoteWrite | kRemoteRead | kRemoteAtomic | kMwBind |
                          kZeroBased | kOnDemand | kHugeTlb | kFlushGlobal | kFlushPersistent |
                          kOptional;

constexpr std::uint64_t kWhole = std::numeric_limits<std::uint64_t>::max();

constexpr bool passes_the_end(std::uint64_t start, std::uint64_t length) {
  return length > 0 && length - 1 > kWhole - start;
}

// All memory of the process, faulted in when touched (implicit on-demand paging).
bool is_implicit(const MrInit& init) {
  return contains(init.access, kOnDemand) && init.address == 0 && init.length == kWhole;
}

Status check(const MrInit& init) {
  if (without(init.access, kKnown) != kNone) {
    return refuse(ErrorCode::kInvalid, "mr: unknown access flag",
                  static_cast<std::uint64_t>(init.access), static_cast<std::uint64_t>(kKnown));
  }
  // Remote write access requires local write access.
  if (intersects(init.access, kRemoteWrite | kRemoteAtomic) &&
      !contains(init.access, kLocalWrite)) {
    return refuse(ErrorCode::kInvalid, "mr: remote write and atomic need local write",
                  static_cast<std::uint64_t>(init.access));
  }
  if (is_implicit(init)) {
    if (init.port != nullptr)
      return refuse(ErrorCode::kInvalid, "mr: implicit on-demand with port");
    if (init.iova != 0) {
      return refuse(ErrorCode::kInvalid, "mr: implicit on-demand with an iova", init.iova);
    }
    return Done{};
  }
  // A region of length zero serves operations of length zero; its address does not matter.
  if (init.length > 0 && init.address == 0 && init.port == nullptr) {
    return refuse(ErrorCode::kInvalid, "mr: null");
  }
  if (passes_the_end(init.address, init.length)) {
    return refuse(ErrorCode::kInvalid, "mr: ends beyond the address space", init.address,
                  init.length);
  }
  if (!contains(init.access, kZeroBased) && passes_the_end(init.iova, init.length)) {
    return refuse(ErrorCode::kInvalid, "mr: iova range ends beyond the address space", init.iova,
                  init.length);
  }
  return Done{};
}

}  // namespace

// Writes the grant for the region's key.
void DmaEngine::set_grant(MemoryRegion& region) {
  const MrInit& init = region.init;
  Grant& grant = keys_.owned(region.key);
  grant.start = contains(init.access, kZeroBased) ? 0 : init.iova;
  grant.length = init.length;
  grant.shift = init.address - grant.start;
  grant.port = init.port;
  grant.pd = init.pd;
  grant.allow(init.access);
  grant.set_key(region.key);
  if (is_late(init.port)) has_late_.store(true, std::memory_order_relaxed);
  offer(region, grant);
}

void DmaEngine::offer(const MemoryRegion& region, const Grant& grant) const {
  if (direct_path_ == nullptr) return;
  const bool remote = intersects(region.init.access, kRemoteWrite | kRemoteRead);
  const bool late = is_late(region.init.port);
  if (!remote || (region.init.port != nullptr && !late)) {
    return direct_path_->withdraw(RKey{region.key});
  }
  direct_path_->offer(RKey{region.key}, {.start = grant.start,
                                         .length = grant.length,
                                         .address = region.init.address,
                                         .access = region.init.access,
                                         .pd = grant.pd,
                                         .late = late});
}

bool DmaEngine::fault_in_pages(const Grant& grant, std::uint64_t address, std::uint64_t length,
                               Access need) const {
  // The first packet of a long request checks the range of all of it; its pages are not needed yet.
  // What is copied at once is checked again, and shorter: at most the packets of one burst.
  constexpr std::uint64_t kLongestCopy = 1U << 20;
  if (pager_ == nullptr || grant.port != nullptr || length > kLongestCopy) return true;
  return pager_->fault_in(address + grant.shift, length,
                          intersects(need, kLocalWrite | kRemoteWrite | kRemoteAtomic));
}

Expected<MrHandle> DmaEngine::register_region(const MrInit& init) {
  if (const Status valid = check(init); !valid) return Unexpected{valid.error()};
  if (regions_.full() || keys_.full()) {
    return refuse(ErrorCode::kLimit, "mr: too many regions", regions_.size());
  }
  if (!retain_pd(init.pd)) return refuse(ErrorCode::kNoSuchObject, "mr: no such domain");
  const auto [handle, region] = regions_.emplace();
  region.init = init;
  region.key = keys_.claim(GrantKind::kRegion);
  set_grant(region);
  return handle;
}

Status DmaEngine::reregister(MrHandle mr, MrChange change, const MrInit& init) {
  MemoryRegion* region = regions_.find(mr);
  if (region == nullptr) return refuse(ErrorCode::kNoSuchObject, "rereg mr: no such region");
  constexpr MrChange kAll = MrChange::kTranslation | MrChange::kPd | MrChange::kAccess;
  if (change == MrChange::kNone || !contains(kAll, change)) {
    return refuse(ErrorCode::kInvalid, "rereg mr: flags", static_cast<std::uint64_t>(change),
                  static_cast<std::uint64_t>(kAll));
  }
  if (region->bound_windows > 0) {
    return refuse(ErrorCode::kBusy, "rereg mr: windows are bound to it", region->bound_windows);
  }

  MrInit wanted = region->init;
  if (contains(change, MrChange::kTranslation)) {
    wanted.address = init.address;
    wanted.length = init.length;
    wanted.iova = init.iova;
    wanted.port = init.port;
  }
  if (contains(change, MrChange::kPd)) wanted.pd = init.pd;
  const bool forgets = planted(Bug::kIgnoreRereg);
  if (contains(change, MrChange::kAccess) && !forgets) wanted.access = init.access;
  if (const Status valid = check(wanted); !valid) return valid;
  if (!retain_pd(wanted.pd)) return refuse(ErrorCode::kNoSuchObject, "rereg mr: no such domain");
  release_pd(region->init.pd);

  // A key to other memory, or to another domain, must not reach the new registration. A change of
  // access rights keeps the key, because programs continue to use the one they have published.
  if (direct_path_ != nullptr) direct_path_->withdraw(RKey{region->key});
  if (intersects(change, MrChange::kTranslation | MrChange::kPd)) {
    keys_.release(region->key);
    region->key = keys_.claim(GrantKind::kRegion);
  }
  region->init = wanted;
  set_grant(*region);
  return Done{};
}

Status DmaEngine::revoke(MrHandle mr) {
  const MemoryRegion* region = regions_.find(mr);
  if (region == nullptr) return refuse(ErrorCode::kNoSuchObject, "dereg mr: no such region");
  if (region->bound_windows > 0) {
    return refuse(ErrorCode::kBusy, "dereg mr: windows are bound to it", region->bound_windows);
  }
  if (direct_path_ != nullptr) direct_path_->withdraw(RKey{region->key});
  if (!planted(Bug::kKeyOutlivesRegion)) keys_.revoke(region->key);
  return Done{};
}

Status DmaEngine::deregister(MrHandle mr) {
  if (const Status revoked = revoke(mr); !revoked) return revoked;
  const MemoryRegion* region = regions_.find(mr);
  if (!planted(Bug::kKeyOutlivesRegion)) keys_.release(region->key);
  release_pd(region->init.pd);
  regions_.erase(mr);
  return Done{};
}

Expected<MrKeys> DmaEngine::keys_of(MrHandle mr) const {
  const MemoryRegion* region = regions_.find(mr);
  if (region == nullptr) return refuse(ErrorCode::kNoSuchObject, "mr: no such region");
  return MrKeys{LKey{region->key}, RKey{region->key}};
}

}  // namespace nerve::nic
