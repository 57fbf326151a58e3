// Shared receive queues and XRC domains.
#pragma once

#include <cstdint>
#include <memory>

#include "host/adapter.h"
#include "nic/handles.h"
#include "verbs/api.h"
#include "verbs/context.h"

namespace nerve::verbs {

struct VerbsSrq;

struct SrqEvents final : host::EventTarget {
  explicit SrqEvents(VerbsSrq& srq) : owner{srq} {}
  void on_event(const nic::Event& event) override;
  VerbsSrq& owner;
};

struct VerbsSrq {
  ibv_srq srq{};
  host::Adapter* adapter{};
  nic::SrqHandle handle{};
  host::ShardChoice shard;
  SrqEvents events{*this};
  std::uint32_t async_reported{};
};

// One engine domain, shared by contexts that open it with the same file.
struct SharedXrcd;

struct VerbsXrcd {
  ibv_xrcd xrcd{};
  nic::XrcdHandle handle{};
  std::shared_ptr<SharedXrcd> shared;
};

inline VerbsSrq& ours(ibv_srq* srq) { return *reinterpret_cast<VerbsSrq*>(srq); }
inline VerbsXrcd& ours(ibv_xrcd* xrcd) { return *reinterpret_cast<VerbsXrcd*>(xrcd); }

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* attr) noexcept;
int get_srq_num(ibv_srq* srq, std::uint32_t* number) noexcept;
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) noexcept;
int post_srq_ops(ibv_srq* srq, ibv_ops_wr* op, ibv_ops_wr** bad) noexcept;
ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* attr) noexcept;
int close_xrcd(ibv_xrcd* xrcd) noexcept;
// Deallocates it, unless others have opened it with its file.
[[nodiscard]] nic::Status leave_xrcd(host::Adapter& adapter, VerbsXrcd& xrcd);

}  // namespace nerve::verbs
