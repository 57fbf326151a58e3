// Handles with which another process can open an allocation of GPU memory.
#pragma once

#include <optional>

#include "host/gpu/gpu_range.h"
#include "link/descriptor.h"

namespace nerve::host {

struct GpuExport {
  cuda::IpcHandle handle{};
  link::Descriptor descriptor;  // valid: instead of the handle
};

// Nothing if the program has allocated the memory in a way that no other process can open, such as
// a pool of cudaMallocAsync().
[[nodiscard]] std::optional<GpuExport> export_gpu_memory(const cuda::Driver& driver,
                                                         const GpuRange& allocation);

}  // namespace nerve::host
