// Memory without an address, from cuMemCreate(): mapped, exported and imported.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/gpu/fake_cuda/fake_state.h"

namespace fake_cuda {
namespace {

// A use of physical memory has ended: a handle, or a mapping.
void drop(uint64_t handle) {
  const auto found = state().physical.find(handle);
  if (--found->second.uses > 0) return;
  ::close(found->second.fd);
  state().physical.erase(found);
}

CUresult keep(int fd, size_t size, CUdevice device, bool exportable, uint64_t* handle) {
  *handle = ++state().handles;
  state().physical[*handle] = {
      .fd = fd, .size = size, .device = device, .exportable = exportable, .uses = 1};
  return kSuccess;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t size, size_t /*alignment*/,
                             CUdeviceptr /*hint*/, unsigned long long /*flags*/) {
  const Call call{"cuMemAddressReserve", false};
  if (call.result() != kSuccess) return call.result();
  void* const range = ::mmap(nullptr, whole_pages(size) + whole_pages(1), PROT_NONE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (range == MAP_FAILED) return kOutOfMemory;
  *address = reinterpret_cast<CUdeviceptr>(range);
  return kSuccess;
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t size) {
  const Call call{"cuMemAddressFree", false};
  if (call.result() != kSuccess) return call.result();
  ::munmap(reinterpret_cast<void*>(address), whole_pages(size) + whole_pages(1));
  return kSuccess;
}

CUresult cuMemMap(CUdeviceptr address, size_t size, size_t offset, uint64_t handle,
                  unsigned long long /*flags*/) {
  const Call call{"cuMemMap", false};
  if (call.result() != kSuccess) return call.result();
  const auto found = state().physical.find(handle);
  if (found == state().physical.end() || offset != 0 || size > found->second.size) {
    return kInvalidValue;
  }
  const Physical& memory = found->second;
  if (map(address, Kind::kMapped, size, memory.fd, nullptr, memory.device) == 0) {
    return kOutOfMemory;
  }
  ++found->second.uses;
  state().mapped[address] = handle;
  return kSuccess;
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t size, const void* /*rights*/, size_t count) {
  const Call call{"cuMemSetAccess", false};
  if (call.result() != kSuccess) return call.result();
  return find(address, size) != nullptr && count == 1 ? kSuccess : kInvalidValue;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t /*size*/) {
  Call call{"cuMemUnmap", false};
  if (call.result() != kSuccess) return call.result();
  const auto found = state().mapped.find(address);
  if (found == state().mapped.end()) return kInvalidValue;
  free_allocation(address);
  drop(found->second);
  state().mapped.erase(found);
  return kSuccess;
}

CUresult cuMemRelease(uint64_t handle) {
  const Call call{"cuMemRelease", false};
  if (call.result() != kSuccess) return call.result();
  if (!state().physical.contains(handle)) return kInvalidValue;
  drop(handle);
  return kSuccess;
}

CUresult cuMemRetainAllocationHandle(uint64_t* handle, void* pointer) {
  const Call call{"cuMemRetainAllocationHandle", false};
  if (call.result() != kSuccess) return call.result();
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  const Allocation* const found = find(address, 1);
  if (found == nullptr || found->kind != Kind::kMapped) return kInvalidValue;
  *handle = std::prev(state().mapped.upper_bound(address))->second;
  ++state().physical[*handle].uses;
  return kSuccess;
}

CUresult cuMemExportToShareableHandle(void* into, uint64_t handle, int type,
                                      unsigned long long /*flags*/) {
  const Call call{"cuMemExportToShareableHandle", false};
  if (call.result() != kSuccess) return call.result();
  const auto found = state().physical.find(handle);
  if (found == state().physical.end() || type != 1 || !found->second.exportable) {
    return kInvalidValue;
  }
  *static_cast<int*>(into) = ::fcntl(found->second.fd, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

CUresult cuMemImportFromShareableHandle(uint64_t* handle, void* from, int type) {
  const Call call{"cuMemImportFromShareableHandle", false};
  if (call.result() != kSuccess) return call.result();
  const int fd = ::fcntl(static_cast<int>(reinterpret_cast<intptr_t>(from)), F_DUPFD_CLOEXEC, 0);
  const off_t size = fd >= 0 ? ::lseek(fd, 0, SEEK_END) : -1;
  if (size < 0 || type != 1) return kInvalidValue;
  return keep(fd, static_cast<size_t>(size), 0, false, handle);
}

CUdeviceptr fake_cuda_alloc_mapped(int device, size_t size, bool exportable) {
  uint64_t handle = 0;
  {
    const std::scoped_lock guard{state().mutex};
    const int fd = ::memfd_create("fake gpu memory", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(whole_pages(size))) != 0) return 0;
    (void)keep(fd, whole_pages(size), device, exportable, &handle);
  }
  CUdeviceptr address = 0;
  if (cuMemAddressReserve(&address, size, 0, 0, 0) != kSuccess) return 0;
  if (cuMemMap(address, size, 0, handle, 0) != kSuccess) return 0;
  return cuMemRelease(handle) == kSuccess ? address : 0;
}

void fake_cuda_free_mapped(CUdeviceptr address) {
  size_t size = 0;
  {
    const std::scoped_lock guard{state().mutex};
    size = state().allocations.at(address).size;
  }
  (void)cuMemUnmap(address, size);
  (void)cuMemAddressFree(address, size);
}

}  // extern "C"
