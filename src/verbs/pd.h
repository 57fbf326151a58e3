// Protection, parent and thread domains.
#pragma once

#include "nic/handles.h"
#include "verbs/api.h"
#include "verbs/context.h"

namespace nerve::verbs {

struct VerbsTd {
  ibv_td td{};
  int users{};  // parent domains that use it; guarded by the context's mutex
};

struct VerbsPd {
  ibv_pd pd{};
  nic::PdHandle handle{};
  VerbsPd* parent{};  // in a parent domain: the PD whose rights it has
  VerbsTd* td{};      // in a parent domain: its thread domain, if any
  int children{};     // parent domains of this PD; guarded by the context's mutex
};

inline VerbsPd& ours(ibv_pd* pd) { return *reinterpret_cast<VerbsPd*>(pd); }

ibv_td* alloc_td(ibv_context* context, ibv_td_init_attr* attr) noexcept;
int dealloc_td(ibv_td* td) noexcept;
ibv_pd* alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr* attr) noexcept;

}  // namespace nerve::verbs
