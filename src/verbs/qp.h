// Queue pairs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/adapter.h"
#include "nic/attributes.h"
#include "nic/handles.h"
#include "verbs/api.h"
#include "verbs/context.h"
#include "verbs/staging.h"

namespace nerve::verbs {

struct VerbsQp;

struct QpEvents final : host::EventTarget {
  explicit QpEvents(VerbsQp& qp) : owner{qp} {}
  void on_event(const nic::Event& event) override;
  VerbsQp& owner;
};

// The type of ibv_wr_flush, and its offset in ibv_qp_ex: the headers of rdma-core 44 do not have it
// yet.
inline constexpr std::size_t kWrFlushAt =
    offsetof(ibv_qp_ex, wr_atomic_write) + sizeof(ibv_qp_ex::wr_atomic_write);
using WrFlush = void (*)(ibv_qp_ex*, std::uint32_t, std::uint64_t, std::size_t, std::uint8_t,
                         std::uint8_t);

struct VerbsQp {
  // Programs built with later headers access members after those that we know. They are in `later`,
  // and zero if we do not support them.
  struct Face {
    ibv_qp_ex ex{};
    std::array<std::byte, 64> later{};
  } face;
  host::Adapter* adapter{};
  nic::QpHandle handle{};
  host::ShardId shard{};
  QpEvents events{*this};
  std::uint32_t async_reported{};
  bool extended{};  // created with send_ops_flags: ibv_wr_* may be called
  bool datagram{};
  ibv_qp_init_attr init{};           // as created, for ibv_query_qp
  std::unique_ptr<Staging> staging;  // of an extended QP

  [[nodiscard]] ibv_qp& base() { return face.ex.qp_base; }
};
static_assert(kWrFlushAt + sizeof(WrFlush) <= sizeof(VerbsQp::Face));

inline VerbsQp& ours(ibv_qp* qp) { return *reinterpret_cast<VerbsQp*>(qp); }
inline VerbsQp& ours(ibv_qp_ex* qp) { return *reinterpret_cast<VerbsQp*>(qp); }

// Sets the requested ibv_wr_* calls (wr.cc). False if one of them is not supported.
[[nodiscard]] bool set_work_calls(VerbsQp& qp, std::uint64_t wanted);

ibv_qp* create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex* attr) noexcept;
int modify_qp_rate_limit(ibv_qp* qp, ibv_qp_rate_limit_attr* attr) noexcept;
int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) noexcept;
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept;
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) noexcept;

}  // namespace nerve::verbs
