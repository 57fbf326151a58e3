// The DMA engine: checks access to memory and moves the bytes.
//
// It owns protection domains, memory regions and memory windows. Every address in a work request or
// a packet passes through resolve_local() or resolve_remote() before a byte moves. Both check key,
// protection domain, rights and bounds (without overflow), and both are called again for each
// packet, so that a region deregistered in mid-message is never touched.
//
// domains.cc, regions.cc and windows.cc hold the control calls, gather_scatter.cc and atomics.cc
// move bytes; key_table.h maps keys to access rights.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

#include "base/fetch_lines.h"
#include "base/ids.h"
#include "base/late_memory.h"
#include "base/planted.h"
#include "base/result.h"
#include "base/siphash.h"
#include "base/slot_table.h"
#include "nic/burst.h"
#include "nic/config.h"
#include "nic/dma_engine/key_table.h"
#include "nic/error.h"
#include "nic/memory.h"
#include "nic/pager.h"
#include "nic/work.h"
#include "wire/frame.h"

namespace nerve::nic {

enum class AccessFault : std::uint8_t {
  kNoSuchKey,     // unknown, stale, invalidated or unbound
  kWrongDomain,   // another protection domain, or a type 2 window of another QP
  kNotPermitted,  // the access rights are not sufficient
  kOutOfBounds,
  kNotMapped,  // an on-demand region has no memory there
};

// The QP that received a request for remote access.
struct RemoteAccessor {
  PdHandle pd{};
  Qpn qpn{};
};

struct Pd {
  std::uint32_t users{};  // regions, windows, and callers of retain_pd()
};

struct MemoryRegion {
  MrInit init{};  // as registered; the grant is derived from it
  std::uint32_t key{};
  std::uint32_t bound_windows{};
};

struct MemoryWindow {
  PdHandle pd{};
  MwType type{};
  bool key_was_bound{};  // the current key has granted access before
  std::uint32_t key{};
  MrHandle region{};  // null while unbound
};

enum class Gathered : std::uint8_t {
  kDone,
  kLater,  // some of it is in late memory, and not fetched
  kFault,
};

// Who reads from late memory, and for which message (LateMemory::Wanted).
struct LateReader {
  const void* engine{};
  std::uint64_t message{};
};

struct Placed {
  std::uint32_t late_writes{};  // that were begun in late memory
  std::uint64_t late_bytes{};
};

class DmaEngine {
 public:
  DmaEngine(const Limits& limits, const SipKey& key_secret, DirectPath* direct_path = nullptr,
            Pager* pager = nullptr, LateMemory* late = nullptr);
  DmaEngine(const DmaEngine&) = delete;
  DmaEngine& operator=(const DmaEngine&) = delete;

  Expected<PdHandle> alloc_pd();
  Status dealloc_pd(PdHandle pd);  // kBusy while anything belongs to it
  // QPs, SRQs and address handles retain their domain while they exist. False: no such domain.
  bool retain_pd(PdHandle pd);
  void release_pd(PdHandle pd);

  Expected<MrHandle> register_region(const MrInit& init);
  Status reregister(MrHandle mr, MrChange change, const MrInit& init);
  // Its keys grant no access from now on. kBusy while a window is bound to it.
  Status revoke(MrHandle mr);
  Status deregister(MrHandle mr);
  [[nodiscard]] Expected<MrKeys> keys_of(MrHandle mr) const;

  Expected<MwHandle> alloc_window(PdHandle pd, MwType type);
  Status dealloc_window(MwHandle mw);
  [[nodiscard]] Expected<RKey> rkey_of(MwHandle mw) const;

  // Executes a BIND_MW work request of QP `by`. A zero length unbinds (type 1). Type 1 takes the
  // next variant when new_rkey is zero; otherwise, like type 2, it takes the low 8 bits given
  // there. Returns the key for peers. A failed bind leaves the window unchanged.
  Result<RKey, WcStatus> bind(const MwBind& bind, RemoteAccessor by);
  // LOCAL_INV and SEND_INV: only a type 2 window that is bound to this QP can be invalidated.
  [[nodiscard]] bool can_invalidate(RKey rkey, RemoteAccessor by) const;
  bool invalidate(RKey rkey, RemoteAccessor by);
  // Called when a QP is destroyed: its type 2 windows must not pass to the next QP with that
  // number.
  void unbind_windows_of(Qpn qpn);

  // Locates [address, address + length) for an accessor that needs the rights `need`. An access of
  // zero bytes needs no key (IBTA C9-88), except for a FLUSH, for which zero can mean the whole
  // region.
  [[nodiscard]] Result<wire::Piece, AccessFault> resolve_local(LKey lkey, PdHandle pd,
                                                               std::uint64_t address,
                                                               std::uint32_t length,
                                                               Access need) const;
  [[nodiscard]] Result<wire::Piece, AccessFault> resolve_remote(RKey rkey, RemoteAccessor by,
                                                                std::uint64_t address,
                                                                std::uint64_t length,
                                                                Access need) const;

  // Adds the pieces for bytes [offset, offset + length) of the list to the frame added last. Leaves
  // the frame unchanged when some part may not be read, or is in late memory.
  Gathered gather(std::span<const Sge> list, std::uint64_t offset, std::uint32_t length,
                  PdHandle pd, TxBurst& burst) const {
    // Nearly every message lies in one element.
    if (list.size() != 1 || length == 0) return gather_parts(list, offset, length, pd, burst, {});
    const Sge& sge = list[0];
    const std::uint64_t address = sge.address + offset;
    if (offset + length > sge.length || address < sge.address) return Gathered::kFault;
    const auto piece = resolve_local(sge.lkey, pd, address, length, Access::kNone);
    if (!piece) return Gathered::kFault;
    if (is_late(*piece)) [[unlikely]]
      return Gathered::kLater;
    burst.add_piece(*piece);
    return Gathered::kDone;
  }
  // The same for a list that is in late memory, at least in part: fetches it for a message.
  Gathered gather_late(std::span<const Sge> list, std::uint64_t offset, std::uint32_t length,
                       PdHandle pd, TxBurst& burst, const LateReader& reader) const {
    return gather_parts(list, offset, length, pd, burst, reader);
  }
  [[nodiscard]] bool is_late(const wire::Piece& piece) const { return is_late(piece.port); }
  [[nodiscard]] bool is_late(const MemoryPort* port) const {
    return port != nullptr && port == late_;
  }
  // Whether late memory was ever registered.
  [[nodiscard]] bool has_late() const { return has_late_.load(std::memory_order_relaxed); }
  // Adds a resolved range of late memory, behind which `follow` more bytes of the message lie.
  Gathered fetch(const wire::Piece& piece, std::uint64_t follow, TxBurst& burst,
                 const LateReader& reader) const;
  // Adds copies of the last frame with the parts behind `piece`, at most `count`, that are in host
  // memory. Returns how many.
  std::uint32_t repeat_late(const wire::Piece& piece, std::uint64_t follow, std::uint32_t count,
                            TxBurst& burst, const LateReader& reader) const;
  // Writes `payload` to bytes [offset, ...) of the list. Everything is checked before the first
  // byte moves. Returns kOutOfBounds also when the list is too short.
  Result<Placed, AccessFault> scatter(std::span<const Sge> list, std::uint64_t offset,
                                      std::span<const wire::Piece> payload, PdHandle pd) const;
  // Copies payload to a resolved range of the same length.
  static void place(const wire::Piece& to, std::span<const wire::Piece> payload);

  // `at` is a resolved, aligned 8-byte range. Values are in host order. Returns the previous value.
  static std::uint64_t compare_swap(const wire::Piece& at, std::uint64_t expected,
                                    std::uint64_t desired);
  static std::uint64_t fetch_add(const wire::Piece& at, std::uint64_t addend);
  static void store_word(const wire::Piece& at, std::uint64_t value);

  // Prefetches what every look-up of a key touches.
  void fetch() const { fetch_line(&late_); }

 private:
  Gathered gather_parts(std::span<const Sge> list, std::uint64_t offset, std::uint32_t length,
                        PdHandle pd, TxBurst& burst, const LateReader& reader) const;
  // The part of the element at `address`.
  Gathered fetch(const Sge& sge, PdHandle pd, std::uint64_t address, const wire::Piece& piece,
                 TxBurst& burst, const LateReader& reader) const;
  void set_grant(MemoryRegion& region);
  void offer(const MemoryRegion& region, const Grant& grant) const;
  [[nodiscard]] bool may_bind(const MemoryWindow& window, const MwBind& bind,
                              RemoteAccessor by) const;
  void unbind(MemoryWindow& window);
  // True unless the grant is on demand and some of the range is not mapped.
  [[nodiscard]] bool fault_in(const Grant& grant, std::uint64_t address, std::uint64_t length,
                              Access need) const {
    return !contains(grant.access, Access::kOnDemand) ||
           fault_in_pages(grant, address, length, need);
  }
  [[nodiscard]] bool fault_in_pages(const Grant& grant, std::uint64_t address, std::uint64_t length,
                                    Access need) const;

  // What every packet looks at comes first.
  LateMemory* late_;
  Pager* pager_;
  std::atomic<bool> has_late_{};  // other engines of the device read it
  KeyTable keys_;
  DirectPath* direct_path_;
  SlotTable<Pd> pds_;
  SlotTable<MemoryRegion> regions_;
  SlotTable<MemoryWindow> windows_;
  std::uint32_t bound_to_qps_{};  // number of bound type 2 windows
};

// Called for every packet, from places that a compiler takes for too many.
[[gnu::always_inline]] inline Result<wire::Piece, AccessFault> DmaEngine::resolve_local(
    LKey lkey, PdHandle pd, std::uint64_t address, std::uint32_t length, Access need) const {
  if (length == 0) return wire::Piece{};
  const Grant* grant = keys_.find(lkey.value());
  if (grant == nullptr || grant->kind != GrantKind::kRegion) {
    return Unexpected{AccessFault::kNoSuchKey};
  }
  if (grant->pd != pd) return Unexpected{AccessFault::kWrongDomain};
  if (!contains(grant->access, need)) return Unexpected{AccessFault::kNotPermitted};
  if (!grant->covers(address, length)) return Unexpected{AccessFault::kOutOfBounds};
  if (!fault_in(*grant, address, length, need)) return Unexpected{AccessFault::kNotMapped};
  return wire::Piece{address + grant->shift, length, grant->port};
}

inline Result<wire::Piece, AccessFault> DmaEngine::resolve_remote(RKey rkey, RemoteAccessor by,
                                                                  std::uint64_t address,
                                                                  std::uint64_t length,
                                                                  Access need) const {
  if (length == 0 && !intersects(need, Access::kFlushGlobal | Access::kFlushPersistent)) {
    return wire::Piece{};
  }
  const Grant* grant = keys_.find(rkey.value());
  if (grant == nullptr) return Unexpected{AccessFault::kNoSuchKey};
  if (grant->pd != by.pd || (grant->qpn != kAnyQp && grant->qpn != by.qpn.value())) {
    return Unexpected{AccessFault::kWrongDomain};
  }
  if (planted(Bug::kSkipRemoteWriteRight)) need = without(need, Access::kRemoteWrite);
  if (!contains(grant->access, need)) return Unexpected{AccessFault::kNotPermitted};
  // A request's length has 32 bits on the wire, so a piece cannot be longer.
  if (length > std::numeric_limits<std::uint32_t>::max() ||
      (length > 0 && !grant->covers(address, length))) {
    return Unexpected{AccessFault::kOutOfBounds};
  }
  if (!fault_in(*grant, address, length, need)) return Unexpected{AccessFault::kNotMapped};
  return wire::Piece{address + grant->shift, static_cast<std::uint32_t>(length), grant->port};
}

}  // namespace nerve::nic
