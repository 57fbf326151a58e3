// The GPU memory that this process has registered.
//
// There is one object per process, used by all engines. It costs nothing until the program
// registers GPU memory. Then its GPU gets a staging area in pinned host memory (gpu_staging.h),
// and a connection to the copier (copier_client.h), which makes the copies. Memory that cannot be
// shared with the copier is copied in this process, with a staging area for each CUDA context.
//
// Every call may come from any thread. A mutex guards everything; it is taken after all locks of
// the host, and no CUDA call made under it waits for a kernel of the program.
//
// Atomics are atomic with respect to each other and to all other accesses through this object, but
// not with respect to the GPU's own kernels.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/late_memory.h"
#include "host/gpu/copier_client.h"
#include "host/gpu/gpu_range.h"
#include "host/gpu/gpu_staging.h"
#include "host/gpu/gpu_windows.h"
#include "host/gpu/gpu_writes.h"

namespace nerve::host {

class GpuMemory final : public LateMemory {
 public:
  // `copier` is the program that makes the copies; empty: all are made in this process.
  explicit GpuMemory(std::string copier = {});
  ~GpuMemory() override;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  // Registers a range if it is GPU memory; kNotGpu leaves everything unchanged. Every range that is
  // added must be removed with the same arguments, and the buffer of its allocation.
  [[nodiscard]] GpuLookup add(std::uint64_t address, std::uint64_t length);
  // Returns after the last copy from or to the range has ended, because the program may free the
  // memory next.
  void remove(std::uint64_t address, std::uint64_t length, std::uint64_t buffer);

  // Where other processes can tell the same copier to find a registered address.
  struct Shared {
    std::uint64_t copier{};  // its identity
    std::uint64_t address{};
  };
  [[nodiscard]] std::optional<Shared> share(std::uint64_t address, std::uint64_t length);
  // Begins to copy between a registered range and memory that another process has shared. Counts as
  // a write. False if the copier cannot do it.
  using Direction = GpuWrites::Direction;
  [[nodiscard]] bool copy(Direction direction, std::uint64_t address, const Shared& other,
                          std::uint64_t length);
  // Returns after all copies that other processes have begun in our memory have ended. Called
  // without locks that the data path needs.
  void settle();

  [[nodiscard]] Fetched fetch(const Wanted& wanted) override;
  void release(const void* engine) override;
  void write(std::uint64_t address, Bytes from) override;
  [[nodiscard]] Ticket written() const override;
  [[nodiscard]] Progress landed(Ticket after, Ticket last) override;

  // These wait for the GPU. If one fails, it counts as a write that does not land.
  void read(std::uint64_t address, MutableBytes into) override;
  std::uint64_t compare_swap(std::uint64_t address, std::uint64_t expected,
                             std::uint64_t desired) override;
  std::uint64_t fetch_add(std::uint64_t address, std::uint64_t addend) override;
  void store_word(std::uint64_t address, std::uint64_t value) override;

  // In the child of a fork(): from now on nothing is accessible, and CUDA is not called.
  void leave_to_parent() { left_ = true; }

 private:
  struct Area {
    Area(std::unique_ptr<GpuStaging> made, GpuWrites& writes)
        : staging{std::move(made)}, windows{*staging, writes} {}
    std::unique_ptr<GpuStaging> staging;
    GpuWindows windows;
    cuda::Context context{};  // of copies in this process
    // The other way: the staging area's copies, of this GPU.
    CopierClient* copier{};
    int device{};
  };
  struct Region {
    std::uint64_t address{};
    std::uint64_t length{};
    Area* area{};
    GpuRange allocation{};
    std::uint32_t uses{};

    [[nodiscard]] bool contains(std::uint64_t at, std::uint64_t size) const {
      return at >= address && at - address <= length && size <= length - (at - address);
    }
  };

  // An area whose copier has opened the allocation; null if that is not possible.
  [[nodiscard]] Area* copier_for(const cuda::Driver& driver, const GpuRange& allocation);
  [[nodiscard]] Area* join_copier(const cuda::Driver& driver, int device);
  [[nodiscard]] Area* area_for(const cuda::Driver& driver, cuda::Context context,
                               cuda::Status& why);
  [[nodiscard]] const Region* region_of(std::uint64_t address, std::uint64_t length);
  [[nodiscard]] Area* area_of(std::uint64_t address, std::uint64_t length);
  // Replaces an aligned word; returns its previous value.
  template <class Change>
  std::uint64_t change_word(std::uint64_t address, Change change);

  const std::string copier_;
  std::mutex adding_;  // taken before the other
  bool copier_failed_{};
  mutable std::mutex mutex_;
  std::atomic<bool> left_{};
  GpuWrites writes_;
  std::vector<std::unique_ptr<Area>> areas_;  // never removed: tickets may refer to them
  std::vector<Region> regions_;               // sorted by address
  std::uint64_t longest_{};                   // of all regions so far
  std::size_t last_found_{};
};

}  // namespace nerve::host
