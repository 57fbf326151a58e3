// What all ways to register memory have in common.
#pragma once

#include <memory>

#include "nic/memory.h"
#include "verbs/memory.h"
#include "verbs/pd.h"

namespace nerve::verbs {

// Makes the region that `init` describes, but for its domain; null with errno.
ibv_mr* register_region(ibv_pd* pd, nic::MrInit init, MrKind kind, void* address,
                        std::shared_ptr<DeviceMemory> device_memory);

}  // namespace nerve::verbs
