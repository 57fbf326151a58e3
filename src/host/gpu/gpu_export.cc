#include "host/gpu/gpu_export.h"

namespace nerve::host {

using cuda::Status;

std::optional<GpuExport> export_gpu_memory(const cuda::Driver& driver, const GpuRange& allocation) {
  if (driver.sharing == nullptr) return std::nullopt;
  const cuda::Driver::Sharing& sharing = *driver.sharing;
  const cuda::CurrentContext current{driver, allocation.context};
  if (current.status() != Status::kSuccess) return std::nullopt;
  GpuExport made;
  if (allocation.has_ipc_handle) {
    if (sharing.ipc_get_mem_handle(&made.handle, allocation.base) != Status::kSuccess) return {};
    return made;
  }
  // Memory from cuMemCreate(), which NCCL uses. It has a descriptor if one was asked for at its
  // creation.
  cuda::Allocation handle{};
  if (sharing.mem_retain_allocation_handle(&handle, reinterpret_cast<void*>(allocation.base)) !=
      Status::kSuccess) {
    return std::nullopt;
  }
  int fd = -1;
  const Status exported =
      sharing.mem_export_to_shareable_handle(&fd, handle, cuda::kHandleIsDescriptor, 0);
  (void)sharing.mem_release(handle);
  if (exported != Status::kSuccess) return std::nullopt;
  made.descriptor = link::Descriptor{fd};
  return made;
}

}  // namespace nerve::host
