// The only port of a device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/api.h"
#include "verbs/context.h"

namespace nerve::verbs {

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attr,
               std::size_t size) noexcept;
int compat_query_port(ibv_context* context, std::uint8_t port,
                      _compat_ibv_port_attr* attr) noexcept;

[[nodiscard]] ibv_mtu mtu_of(nic::Mtu mtu);

}  // namespace nerve::verbs
