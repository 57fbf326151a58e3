// Common to all calls that register memory.
#pragma once

#include <memory>

#include "nic/memory.h"
#include "verbs/gpu_region.h"
#include "verbs/memory.h"
#include "verbs/pd.h"

namespace nerve::verbs {

// Registers the region that `init` describes, in the domain of `pd`; null, with errno, on failure.
ibv_mr* register_region(ibv_pd* pd, nic::MrInit init, MrKind kind, void* address,
                        std::shared_ptr<DeviceMemory> device_memory,
                        std::shared_ptr<GpuRegion> gpu = nullptr);

}  // namespace nerve::verbs
