// The DMA Engine: who may touch which memory, and the moving of octets once that is settled.
//
// Owns protection domains, memory regions and memory windows. Every address that a work request or
// a peer names passes through resolve_local() or resolve_remote() before a byte moves; both check
// key, protection domain, rights and bounds (without overflow), and both are called again for each
// packet, so that a region that goes away in mid-message is never touched.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "base/ids.h"
#include "base/result.h"
#include "base/siphash.h"
#include "nic/burst.h"
#include "nic/config.h"
#include "nic/error.h"
#include "nic/memory.h"
#include "nic/work.h"
#include "wire/frame.h"

namespace nerve::nic {

enum class AccessFault : std::uint8_t {
  kNoSuchKey,     // unknown, stale, invalidated or unbound
  kWrongDomain,   // another protection domain, or a type 2 window of another QP
  kNotPermitted,  // the rights do not include the access
  kOutOfBounds,
};

// Who asks for remote access: the QP that received the request.
struct RemoteAccessor {
  PdHandle pd{};
  Qpn qpn{};
};

class DmaEngine {
 public:
  DmaEngine(const Limits& limits, const SipKey& key_secret);
  ~DmaEngine();

  Expected<PdHandle> alloc_pd();
  Status dealloc_pd(PdHandle pd);  // kBusy while anything belongs to it
  // QPs, SRQs and address handles hold their domain while they live. False: no such domain.
  bool retain_pd(PdHandle pd);
  void release_pd(PdHandle pd);

  Expected<MrHandle> register_region(const MrInit& init);
  Status reregister(MrHandle mr, MrChange change, const MrInit& init);
  Status deregister(MrHandle mr);  // kBusy while a window is bound to it
  [[nodiscard]] Expected<MrKeys> keys_of(MrHandle mr) const;

  Expected<MwHandle> alloc_window(PdHandle pd, MwType type);
  Status dealloc_window(MwHandle mw);
  [[nodiscard]] Expected<RKey> rkey_of(MwHandle mw) const;

  // Executes a BIND_MW work request of QP `by`. A zero length unbinds (type 1).
  Result<RKey, WcStatus> bind(const MwBind& bind, RemoteAccessor by);
  // LOCAL_INV and SEND_INV: only a bound type 2 window of this QP's domain can be invalidated.
  [[nodiscard]] bool can_invalidate(RKey rkey, RemoteAccessor by) const;
  bool invalidate(RKey rkey, RemoteAccessor by);

  // Where [address, address + length) is, for one who may do `need` there.
  [[nodiscard]] Result<wire::Piece, AccessFault> resolve_local(LKey lkey, PdHandle pd,
                                                               std::uint64_t address,
                                                               std::uint32_t length,
                                                               Access need) const;
  [[nodiscard]] Result<wire::Piece, AccessFault> resolve_remote(RKey rkey, RemoteAccessor by,
                                                                std::uint64_t address,
                                                                std::uint64_t length,
                                                                Access need) const;

  // Adds to the frame last added to `burst` the pieces for octets [offset, offset + length) of the
  // list; false when some part of it may not be read (the frame is then left as it was).
  bool gather(std::span<const Sge> list, std::uint64_t offset, std::uint32_t length, PdHandle pd,
              TxBurst& burst) const;
  // Writes `payload` to octets [offset, ...) of the list. Everything is checked before the first
  // octet moves; kOutOfBounds also when the list is too short.
  Result<Done, AccessFault> scatter(std::span<const Sge> list, std::uint64_t offset,
                                    std::span<const wire::Piece> payload, PdHandle pd) const;
  // From payload to a resolved place of the same length.
  static void place(const wire::Piece& to, std::span<const wire::Piece> payload);

  // `at` is a resolved, aligned 8-octet place. Values are in host order. Returns the value before.
  static std::uint64_t compare_swap(const wire::Piece& at, std::uint64_t expected,
                                    std::uint64_t desired);
  static std::uint64_t fetch_add(const wire::Piece& at, std::uint64_t addend);
  static void store_word(const wire::Piece& at, std::uint64_t value);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace nerve::nic
