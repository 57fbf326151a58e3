// Converts the program's work requests to the engine's. Part of every post, so it is short and
// allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "nic/work.h"
#include "verbs/address.h"
#include "verbs/api.h"
#include "verbs/memory.h"
#include "verbs/qp.h"

namespace nerve::verbs {

// Limit on the entries of a list; devices report a lower one.
inline constexpr std::size_t kMaxList = 256;

// Both have the same members at the same offsets.
static_assert(sizeof(nic::Sge) == sizeof(ibv_sge));
static_assert(offsetof(nic::Sge, address) == offsetof(ibv_sge, addr));
static_assert(offsetof(nic::Sge, length) == offsetof(ibv_sge, length));
static_assert(offsetof(nic::Sge, lkey) == offsetof(ibv_sge, lkey));

// A copy of the program's list in the engine's type. The memory is not cleared first.
class ListCopy {
 public:
  // False if the program gave too many entries.
  [[nodiscard]] bool take(const ibv_sge* list, int count) {
    if (static_cast<unsigned>(count) > kMaxList) return false;  // also if negative
    count_ = static_cast<std::size_t>(count);
    if (count_ > 0) std::memcpy(room_, list, count_ * sizeof(ibv_sge));
    return true;
  }
  [[nodiscard]] std::span<const nic::Sge> list() const {
    return {reinterpret_cast<const nic::Sge*>(room_), count_};
  }

 private:
  std::size_t count_{};
  alignas(nic::Sge) std::byte room_[kMaxList * sizeof(nic::Sge)];
};

// The flags have the same bits.
inline constexpr unsigned kSendFlags =
    IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE;
static_assert(static_cast<unsigned>(nic::SendFlags::kFence) == IBV_SEND_FENCE);
static_assert(static_cast<unsigned>(nic::SendFlags::kSignaled) == IBV_SEND_SIGNALED);
static_assert(static_cast<unsigned>(nic::SendFlags::kSolicited) == IBV_SEND_SOLICITED);
static_assert(static_cast<unsigned>(nic::SendFlags::kInline) == IBV_SEND_INLINE);

// A window controls access by peers, so local write has no meaning here, but programs often set it.
inline nic::MwBind bind_of(ibv_mw* mw, std::uint32_t rkey, const ibv_mw_bind_info& info) {
  nic::MwBind bind{
      .window = ours(mw).handle,
      .region = {},
      .address = info.addr,
      .length = info.length,
      .access = without(static_cast<nic::Access>(info.mw_access_flags), nic::Access::kLocalWrite),
      .new_rkey = RKey{rkey}};
  if (info.mr != nullptr) bind.region = ours(info.mr).handle;
  return bind;
}

// The path to a datagram's peer must be open before the post; checked once for each new peer.
inline void reach(const VerbsQp& from, VerbsAh& ah, std::uint32_t qpn) {
  const std::uint32_t peer = std::uint32_t{from.shard} << 24U | (qpn & Qpn::kMask);
  if (ah.reached.load(std::memory_order_relaxed) == peer) [[likely]]
    return;
  from.adapter->reach(from.shard, ah.destination, Qpn{qpn & Qpn::kMask});
  ah.reached.store(peer, std::memory_order_relaxed);
}

}  // namespace nerve::verbs
