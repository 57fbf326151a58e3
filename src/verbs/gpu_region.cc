#include "verbs/gpu_region.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>

#include "host/diagnostics/log.h"
#include "host/runtime/process_memory.h"
#include "verbs/registration.h"

namespace nerve::verbs {
namespace {

using host::GpuFinding;
using host::LogLevel;

const char* name_of(const ibv_context* context) { return context->device->name; }

// GPU memory, or the reason why it is none; no error and null for host memory.
Backing find_gpu(ibv_context* context, std::uint64_t address, std::size_t length, unsigned access) {
  host::GpuMemory& memory = ours(context).adapter->gpu_memory();
  const host::GpuLookup found = memory.add(address, length);
  switch (found.finding) {
    case GpuFinding::kNotGpu:
      return {};
    case GpuFinding::kCrosses:
      host::log(LogLevel::kWarn,
                "%s: mr: 0x%" PRIx64
                " with %zu bytes exceeds its allocation in GPU memory, 0x%" PRIx64 " with %" PRIu64
                " bytes",
                name_of(context), address, length, found.range.base, found.range.size);
      return {.error = EFAULT, .gpu = nullptr};
    case GpuFinding::kFailed:
      host::log(LogLevel::kWarn, "%s: mr: CUDA cannot use 0x%" PRIx64 ": %s", name_of(context),
                address, cuda::describe(*host::gpu_driver(), found.status).c_str());
      return {.error = found.status == cuda::Status::kOutOfMemory ? ENOMEM : EIO, .gpu = nullptr};
    case GpuFinding::kGpu:
      break;
  }
  auto region = std::make_shared<GpuRegion>(memory, address, length, found.range.buffer);
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) {
    host::log(LogLevel::kWarn, "%s: mr: 0x%" PRIx64 ": GPU memory has no on-demand paging",
              name_of(context), address);
    return {.error = EOPNOTSUPP, .gpu = nullptr};
  }
  return {.error = 0, .gpu = std::move(region)};
}

// CUDA keeps address ranges mapped that no access may use, also after the memory was freed. So in a
// process with CUDA, mapped memory is not enough.
bool is_readable(const void* address, std::size_t length) {
  const auto* const bytes = static_cast<const std::byte*>(address);
  for (const std::byte* at : {bytes, bytes + (length - 1)}) {
    std::byte read{};
    const iovec into{.iov_base = &read, .iov_len = 1};
    const iovec from{.iov_base = const_cast<std::byte*>(at), .iov_len = 1};
    if (::process_vm_readv(::getpid(), &into, 1, &from, 1, 0) < 0 && errno == EFAULT) return false;
  }
  return true;
}

}  // namespace

// On hardware, registration pins pages and fails where there are none. Nothing is pinned here, but
// the first access to a region over unmapped memory would end the process.
Backing find_backing(ibv_pd* pd, const void* address, std::size_t length, unsigned access) {
  const bool has_cuda = host::gpu_driver() != nullptr;
  if (has_cuda) {
    if (const int error = check_live(pd); error != 0) return {.error = error, .gpu = nullptr};
    Backing gpu = find_gpu(pd->context, reinterpret_cast<std::uint64_t>(address), length, access);
    if (gpu.error != 0 || gpu.gpu) return gpu;
  }
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return {};
  const bool usable = host::is_mapped(address, length) &&
                      (!has_cuda || length == 0 || is_readable(address, length));
  if (usable) return {};
  if (has_cuda) {
    host::log(
        LogLevel::kWarn,
        "%s: mr: %p with %zu bytes is neither memory of a GPU nor accessible host memory; was "
        "it freed?",
        name_of(pd->context), address, length);
  }
  return {.error = EFAULT, .gpu = nullptr};
}

// Programs probe with a descriptor of -1: UCX interprets EBADF as "the call exists", NCCL anything
// but EOPNOTSUPP and EPROTONOSUPPORT. NCCL would use GPU memory then, which is slow without MPS
// (docs/gpu-memory.md), so it must be asked for.
ibv_mr* register_dmabuf(ibv_pd* pd, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                        int fd, unsigned access) {
  const bool has_cuda = host::gpu_driver() != nullptr;
  if (fd < 0) {
    const bool offered =
        !has_cuda || check_live(pd) != 0 || ours(pd->context).adapter->gpu_direct();
    return none(offered ? EBADF : EOPNOTSUPP);
  }
  if (!has_cuda) return none(EOPNOTSUPP);
  if (::fcntl(fd, F_GETFD) < 0) return none(EBADF);
  if (const int error = check_live(pd); error != 0) return none(error);
  Backing backing = find_gpu(pd->context, iova, length, access);
  if (backing.error != 0) return none(backing.error);
  if (!backing.gpu) {
    host::log(LogLevel::kWarn,
              "%s: dma-buf mr: the iova 0x%" PRIx64
              " is not the address of memory of a GPU; other dma-bufs are not supported",
              name_of(pd->context), iova);
    return none(EOPNOTSUPP);
  }
  const nic::MrInit init{.pd = {},
                         .address = iova,
                         .length = length,
                         .iova = iova,
                         .access = static_cast<nic::Access>(access),
                         .port = backing.port()};
  return register_region(pd, init, MrKind::kHost, reinterpret_cast<void*>(offset), nullptr,
                         std::move(backing.gpu));
}

}  // namespace nerve::verbs
