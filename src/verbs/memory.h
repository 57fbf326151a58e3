// Memory regions, memory windows and device memory.
#pragma once

#include <cstddef>
#include <memory>

#include "nic/handles.h"
#include "verbs/api.h"

namespace nerve::verbs {

// The value of max_dm_size: the total for all contexts of a process.
inline constexpr std::size_t kMaxDeviceMemory = std::size_t{1} << 20U;

// Memory of this process that is accessible only through work requests and the copy calls.
struct DeviceMemory {
  explicit DeviceMemory(std::size_t length, std::size_t alignment);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  std::byte* bytes{};  // null if it could not be allocated
  std::size_t size{};
};

struct VerbsDm {
  ibv_dm dm{};
  std::shared_ptr<DeviceMemory> memory;  // shared with its imports and regions
};

class GpuRegion;  // verbs/gpu_region.h

enum class MrKind : unsigned char { kHost, kNull, kDevice };

struct VerbsMr {
  ibv_mr mr{};
  nic::MrHandle handle{};
  nic::PdHandle pd{};
  MrKind kind{};
  std::shared_ptr<DeviceMemory> device_memory;
  std::shared_ptr<GpuRegion> gpu;  // null: not GPU memory
};

struct VerbsMw {
  ibv_mw mw{};
  nic::MwHandle handle{};
};

inline VerbsDm& ours(ibv_dm* dm) { return *reinterpret_cast<VerbsDm*>(dm); }
inline VerbsMr& ours(ibv_mr* mr) { return *reinterpret_cast<VerbsMr*>(mr); }
inline VerbsMw& ours(ibv_mw* mw) { return *reinterpret_cast<VerbsMw*>(mw); }

ibv_mr* alloc_null_mr(ibv_pd* pd) noexcept;
int advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
              std::uint32_t count) noexcept;
ibv_dm* alloc_dm(ibv_context* context, ibv_alloc_dm_attr* attr) noexcept;
int free_dm(ibv_dm* dm) noexcept;
ibv_mr* reg_dm_mr(ibv_pd* pd, ibv_dm* dm, std::uint64_t offset, std::size_t length,
                  unsigned int access) noexcept;
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) noexcept;
int dealloc_mw(ibv_mw* mw) noexcept;

}  // namespace nerve::verbs
