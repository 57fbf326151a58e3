// Reductions of GPU memory. The CPU combines, so blocks of the tensor are copied to memory of the
// process, reduced there by the algorithms of collectives.h, and copied back. While one block is
// reduced, the next one is copied from the GPU and the one before back to it.
#pragma once

#include <cstddef>

#include "ai/collectives.h"

namespace nerve::ai {

// Memory of the process for the blocks, pinned and registered.
class Staging {
 public:
  static constexpr std::size_t kBlock = 4U << 20;
  static constexpr std::size_t kBlocks = 3;

  explicit Staging(MemoryCache& cache) : cache_{cache} {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;
  ~Staging();

  // Allocates it, unless that was done. `gpu` is the first to use it; it must outlive this.
  Status open(Gpu& gpu);
  [[nodiscard]] std::byte* block(std::size_t index) const {
    return memory_ + index % kBlocks * kBlock;
  }

 private:
  MemoryCache& cache_;
  Gpu* pinned_by_{};
  std::byte* memory_{};
  const Registration* registration_{};
};

Status staged_all_reduce(const Collective& c, Staging& staging, const Memory& data,
                         std::size_t count, Reduction how, Algorithm algorithm);
// One of `in` and `out` may be memory of the process.
Status staged_reduce_scatter(const Collective& c, Staging& staging, const Memory& in,
                             const Memory& out, std::size_t count, Reduction how);

}  // namespace nerve::ai
