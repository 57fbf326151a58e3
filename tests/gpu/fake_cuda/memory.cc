// GPU memory, pinned host memory, pointer attributes and IPC handles.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "tests/gpu/fake_cuda/fake_state.h"

namespace fake_cuda {
namespace {

enum Attribute : int {
  kContext = 1,
  kMemoryType = 2,
  kBufferId = 7,
  kIsManaged = 8,
  kDeviceOrdinal = 9,
  kIsLegacyIpcCapable = 10,
  kRangeStart = 11,
  kRangeSize = 12,
};
constexpr unsigned kHostMemory = 1;
constexpr unsigned kDeviceMemory = 2;

CUdeviceptr allocate(Kind kind, size_t size, FakeContext* context, CUdevice device) {
  const int fd = ::memfd_create("fake gpu memory", MFD_CLOEXEC);
  if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(whole_pages(size))) != 0) return 0;
  return map(0, kind, size, fd, context, device);
}

// The contents of an IPC handle.
struct Exported {
  uint64_t magic;
  uint64_t size;
  int pid;
  int fd;
  CUdevice device;
};
constexpr uint64_t kMagic = 0x6661'6b65'6375'6461;

template <class Value>
void put(void* into, Value value) {
  std::memcpy(into, &value, sizeof value);
}

void put_attribute(int attribute, void* into, CUdeviceptr pointer) {
  Allocation* const found = find(pointer, 1);
  const bool host = found == nullptr && is_pinned(reinterpret_cast<void*>(pointer), 1);
  const bool owned = found != nullptr && found->kind != Kind::kPool && found->kind != Kind::kMapped;
  CUdeviceptr base = 0;
  if (found != nullptr) base = std::prev(state().allocations.upper_bound(pointer))->first;
  switch (attribute) {
    case kContext:
      return put(into, owned ? found->context : nullptr);
    case kMemoryType:
      if (found != nullptr) return put(into, kDeviceMemory);
      return put(into, host ? kHostMemory : 0U);
    case kBufferId:
      return put(into, found != nullptr ? found->buffer : uint64_t{});
    case kIsManaged:
      return put(into, unsigned{found != nullptr && found->kind == Kind::kManaged});
    case kDeviceOrdinal:
      return put(into, found != nullptr ? found->device : -2);
    case kIsLegacyIpcCapable:
      return put(into, unsigned{found != nullptr && found->kind == Kind::kDevice});
    case kRangeStart:
      return put(into, base);
    case kRangeSize:
      return put(into, found != nullptr ? found->size : size_t{});
    default:
      return;
  }
}

}  // namespace

size_t whole_pages(size_t size) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  return (size + page - 1) / page * page;
}

CUdeviceptr map(CUdeviceptr at, Kind kind, size_t size, int fd, FakeContext* context,
                CUdevice device) {
  const size_t mapped = whole_pages(size);
  void* const bytes = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (bytes == MAP_FAILED) return 0;
  if (kind == Kind::kManaged) at = reinterpret_cast<CUdeviceptr>(bytes);
  if (at == 0) {
    // A page behind it stays free of other memory. Like CUDA, it prefers addresses that were used
    // before.
    constexpr int kAnywhere = MAP_PRIVATE | MAP_ANONYMOUS;
    void* range = MAP_FAILED;
    if (state().last_freed != 0) {
      range = ::mmap(reinterpret_cast<void*>(state().last_freed), mapped + whole_pages(1),
                     PROT_NONE, kAnywhere | MAP_FIXED_NOREPLACE, -1, 0);
    }
    if (range == MAP_FAILED) {
      range = ::mmap(nullptr, mapped + whole_pages(1), PROT_NONE, kAnywhere, -1, 0);
    }
    at = reinterpret_cast<CUdeviceptr>(range);
  }
  state().allocations[at] = {.kind = kind,
                             .size = size,
                             .mapped = mapped,
                             .bytes = static_cast<char*>(bytes),
                             .memory_fd = fd,
                             .context = context,
                             .device = device,
                             .buffer = ++state().buffers};
  return at;
}

Allocation* find(CUdeviceptr address, size_t length) {
  auto& all = state().allocations;
  auto at = all.upper_bound(address);
  if (at == all.begin()) return nullptr;
  --at;
  const CUdeviceptr offset = address - at->first;
  if (offset >= at->second.size || length > at->second.size - offset) return nullptr;
  return &at->second;
}

char* bytes_at(CUdeviceptr address, size_t length) {
  Allocation* const found = find(address, length);
  if (found == nullptr) return nullptr;
  return found->bytes + (address - std::prev(state().allocations.upper_bound(address))->first);
}

bool is_pinned(const void* memory, size_t length) {
  const auto address = reinterpret_cast<uintptr_t>(memory);
  auto at = state().pinned.upper_bound(address);
  if (at == state().pinned.begin()) return false;
  --at;
  return address + length <= at->first + at->second;
}

void free_allocation(CUdeviceptr address) {
  const Allocation& gone = state().allocations.at(address);
  ::munmap(gone.bytes, gone.mapped);
  if (gone.kind != Kind::kManaged && gone.kind != Kind::kMapped) {
    ::munmap(reinterpret_cast<void*>(address), gone.mapped + whole_pages(1));
    state().last_freed = address;
  }
  if (gone.kind != Kind::kMapped) ::close(gone.memory_fd);
  state().allocations.erase(address);
}

}  // namespace fake_cuda

using namespace fake_cuda;

extern "C" {

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t size) {
  Call call{"cuMemAlloc_v2"};
  if (call.result() != kSuccess) return call.result();
  if (size == 0) return kInvalidValue;
  if (const CUresult refused = call.disturbs_capture(); refused != kSuccess) return refused;
  *address = allocate(Kind::kDevice, size, call.context(), call.context()->device);
  return *address != 0 ? kSuccess : kOutOfMemory;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  Call call{"cuMemFree_v2", false};
  if (call.result() != kSuccess) return call.result();
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end()) return kInvalidValue;
  wait_for_copies(call.lock(), address, found->second.size);
  free_allocation(address);
  return kSuccess;
}

CUresult cuMemHostAlloc(void** memory, size_t size, unsigned /*flags*/) {
  const Call call{"cuMemHostAlloc"};
  if (call.result() != kSuccess) return call.result();
  *memory = ::mmap(nullptr, whole_pages(size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                   -1, 0);
  if (*memory == MAP_FAILED) return kOutOfMemory;
  state().pinned[reinterpret_cast<uintptr_t>(*memory)] = size;
  return kSuccess;
}

CUresult cuMemFreeHost(void* memory) {
  const Call call{"cuMemFreeHost"};
  if (call.result() != kSuccess) return call.result();
  const auto found = state().pinned.find(reinterpret_cast<uintptr_t>(memory));
  if (found == state().pinned.end()) return kInvalidValue;
  ::munmap(memory, whole_pages(found->second));
  state().pinned.erase(found);
  return kSuccess;
}

CUresult cuMemHostRegister_v2(void* memory, size_t size, unsigned /*flags*/) {
  Call call{"cuMemHostRegister_v2"};
  if (call.result() != kSuccess) return call.result();
  if (const CUresult refused = call.disturbs_capture(); refused != kSuccess) return refused;
  if (is_pinned(memory, 1)) return kHostMemoryAlreadyRegistered;
  state().pinned[reinterpret_cast<uintptr_t>(memory)] = size;
  return kSuccess;
}

CUresult cuMemHostUnregister(void* memory) {
  const Call call{"cuMemHostUnregister"};
  if (call.result() != kSuccess) return call.result();
  const bool known = state().pinned.erase(reinterpret_cast<uintptr_t>(memory)) != 0;
  return known ? kSuccess : kHostMemoryNotRegistered;
}

CUresult cuPointerGetAttributes(unsigned count, int* attributes, void** values,
                                CUdeviceptr pointer) {
  const Call call{"cuPointerGetAttributes", false};
  if (call.result() != kSuccess) return call.result();
  for (unsigned i = 0; i < count; ++i) put_attribute(attributes[i], values[i], pointer);
  return kSuccess;
}

CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr pointer) {
  const Call call{"cuPointerGetAttribute", false};
  if (call.result() != kSuccess) return call.result();
  if (find(pointer, 1) == nullptr && !is_pinned(reinterpret_cast<void*>(pointer), 1)) {
    return kInvalidValue;
  }
  put_attribute(attribute, value, pointer);
  return kSuccess;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* size, CUdeviceptr pointer) {
  const Call call{"cuMemGetAddressRange_v2", false};
  if (call.result() != kSuccess) return call.result();
  if (find(pointer, 1) == nullptr) return kInvalidValue;
  put_attribute(kRangeStart, base, pointer);
  put_attribute(kRangeSize, size, pointer);
  return kSuccess;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  const Call call{"cuIpcGetMemHandle"};
  if (call.result() != kSuccess) return call.result();
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end() || found->second.kind != Kind::kDevice) {
    return kInvalidValue;
  }
  *handle = {};
  put(handle, Exported{.magic = kMagic,
                       .size = found->second.size,
                       .pid = ::getpid(),
                       .fd = found->second.memory_fd,
                       .device = found->second.device});
  return kSuccess;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* address, CUipcMemHandle handle, unsigned /*flags*/) {
  const Call call{"cuIpcOpenMemHandle_v2"};
  if (call.result() != kSuccess) return call.result();
  Exported from{};
  std::memcpy(&from, &handle, sizeof from);
  if (from.magic != kMagic || from.pid == ::getpid()) return kInvalidContext;
  const std::string path = "/proc/" + std::to_string(from.pid) + "/fd/" + std::to_string(from.fd);
  const int fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return kInvalidValue;
  *address = map(0, Kind::kImported, from.size, fd, call.context(), from.device);
  return *address != 0 ? kSuccess : kOutOfMemory;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) { return cuMemFree_v2(address); }

CUdeviceptr fake_cuda_alloc_pool(int device, size_t size) {
  const std::scoped_lock guard{state().mutex};
  return allocate(Kind::kPool, size, nullptr, device);
}

void* fake_cuda_alloc_managed(size_t size) {
  const std::scoped_lock guard{state().mutex};
  return reinterpret_cast<void*>(allocate(Kind::kManaged, size, state().contexts.front().get(), 0));
}

void fake_cuda_unmap(CUdeviceptr address) {
  const std::scoped_lock guard{state().mutex};
  free_allocation(address);
}

bool fake_cuda_poke(CUdeviceptr to, const void* from, size_t length) {
  const std::scoped_lock guard{state().mutex};
  char* const bytes = bytes_at(to, length);
  if (bytes != nullptr) std::memcpy(bytes, from, length);
  return bytes != nullptr;
}

bool fake_cuda_peek(void* to, CUdeviceptr from, size_t length) {
  const std::scoped_lock guard{state().mutex};
  const char* const bytes = bytes_at(from, length);
  if (bytes != nullptr) std::memcpy(to, bytes, length);
  return bytes != nullptr;
}

}  // extern "C"
