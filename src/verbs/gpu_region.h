// Registration of GPU memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "host/gpu/gpu_memory.h"
#include "verbs/pd.h"

namespace nerve::verbs {

// A range of GPU memory that the process may access, for as long as this object exists.
class GpuRegion {
 public:
  GpuRegion(host::GpuMemory& memory, std::uint64_t address, std::uint64_t length,
            std::uint64_t buffer)
      : memory_{memory}, address_{address}, length_{length}, buffer_{buffer} {}
  ~GpuRegion() { memory_.remove(address_, length_, buffer_); }
  GpuRegion(const GpuRegion&) = delete;
  GpuRegion& operator=(const GpuRegion&) = delete;

  [[nodiscard]] MemoryPort* port() const { return &memory_; }

 private:
  host::GpuMemory& memory_;
  const std::uint64_t address_;
  const std::uint64_t length_;
  const std::uint64_t buffer_;
};

// The memory behind a range that a program registers.
struct Backing {
  int error{};                     // an errno: the range cannot be registered
  std::shared_ptr<GpuRegion> gpu;  // null: host memory

  [[nodiscard]] MemoryPort* port() const { return gpu ? gpu->port() : nullptr; }
};

[[nodiscard]] Backing find_backing(ibv_pd* pd, const void* address, std::size_t length,
                                   unsigned access);

// ibv_reg_dmabuf_mr(): registers GPU memory at `iova`, because programs pass its address there; the
// file itself cannot be mapped.
[[nodiscard]] ibv_mr* register_dmabuf(ibv_pd* pd, std::uint64_t offset, std::size_t length,
                                      std::uint64_t iova, int fd, unsigned access);

}  // namespace nerve::verbs
