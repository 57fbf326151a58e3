// What an address is to CUDA: GPU memory, and of which context, or host memory.
#pragma once

#include <cstdint>

#include "cuda/driver.h"

namespace nerve::host {

// An allocation in a GPU's memory.
struct GpuRange {
  cuda::Context context{};
  int device{};
  std::uint64_t base{};
  std::uint64_t size{};
  std::uint64_t buffer{};  // another one for every allocation of the process
  bool has_ipc_handle{};
};

enum class GpuFinding : std::uint8_t {
  kNotGpu,   // host memory for us: ordinary, pinned or managed memory, or unknown to CUDA
  kGpu,      // inside one allocation of a GPU
  kCrosses,  // begins in an allocation of a GPU and continues beyond its end
  kFailed,   // CUDA cannot answer any more
};

struct GpuLookup {
  GpuFinding finding{};
  GpuRange range{};       // if kGpu or kCrosses: the allocation in which it begins
  cuda::Status status{};  // if kFailed
};

// The CUDA driver that the program has loaded; null if there is none, or none that can be used,
// which is logged.
[[nodiscard]] const cuda::Driver* gpu_driver();

// Programs round the ranges that they register to whole pages (NCCL does). So a range may begin and
// end outside of the allocation, within its first and last page.
[[nodiscard]] GpuLookup find_gpu_memory(const cuda::Driver& driver, std::uint64_t address,
                                        std::uint64_t length);

}  // namespace nerve::host
