// Copies between the memory of a GPU and a staging area in host memory, or between two GPU
// memories.
//
// A copy only begins in a call. Its slot tells when it has ended; a slot has one copy at a time.
// Writes end in the order in which they begin, fetches in any order with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/late_memory.h"

namespace nerve::host {

class GpuCopies {
 public:
  using Slot = std::uint32_t;
  using Progress = LateMemory::Progress;

  enum class Kind : std::uint32_t {
    kFetch = 1,     // from the GPU to the staging area
    kWrite = 2,     // from the staging area to the GPU
    kReadBack = 3,  // from the GPU to the staging area, after all earlier writes
    kSend = 4,      // from the GPU to memory of another process on a GPU
    kTake = 5,      // the reverse
  };
  struct Copy {
    Kind kind{};
    std::uint64_t gpu{};    // address
    std::uint64_t other{};  // offset in the staging area, or the copier's address of other memory
    std::uint64_t length{};
    Slot done{};
    std::optional<Slot> after;  // a fetch begins after this copy
  };

  virtual ~GpuCopies() = default;

  // False if it cannot begin. Then its slot is free.
  [[nodiscard]] virtual bool begin(const Copy& copy) = 0;
  // Of the last copy that began with this slot.
  [[nodiscard]] virtual Progress progress(Slot slot) = 0;

  // No copy can succeed any more.
  [[nodiscard]] bool dead() const { return dead_; }
  void give_up(const char* why);
  // In the child of a fork(): from now on nothing is called.
  virtual void leave_to_parent() { dead_ = true; }

 protected:
  // Logs the first failures.
  void report_failure(const Copy& copy, const char* why);

 private:
  bool dead_{};
  unsigned failures_logged_{};
};

}  // namespace nerve::host
