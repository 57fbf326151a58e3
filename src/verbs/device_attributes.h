// Device attributes and the device's clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "verbs/api.h"
#include "verbs/context.h"

namespace nerve::verbs {

// Completion timestamps are nanoseconds of CLOCK_MONOTONIC.
inline constexpr std::uint64_t kClockKilohertz = 1'000'000;

int query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                    ibv_device_attr_ex* attr, std::size_t size) noexcept;
int compat_query_device(ibv_context* context, ibv_device_attr* attr) noexcept;
int query_rt_values(ibv_context* context, ibv_values_ex* values) noexcept;

}  // namespace nerve::verbs
