// The host memory through which the bytes of one CUDA context pass, and the streams that copy them.
//
// A copy only begins in a call; an event tells when it is done. Streams are non-blocking: a copy on
// the legacy default stream would wait for every kernel of the program, and NCCL's kernels run
// until the data arrives that this copy brings.
//
// The memory is our own and registered with CUDA, instead of allocated by it: it stays mapped when
// the program destroys the context.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/late_memory.h"
#include "host/gpu/cuda_driver.h"

namespace nerve::host {

inline constexpr std::size_t kGpuWindows = 16;
inline constexpr std::size_t kGpuWindowSize = std::size_t{256} << 10U;
inline constexpr std::size_t kGpuRingSize = std::size_t{4} << 20U;
inline constexpr std::size_t kGpuRingCopies = 128;  // in flight
inline constexpr std::size_t kGpuWordsSize = std::size_t{64} << 10U;

// The part of a staging area's ring that is in use. Offsets only grow; modulo the ring's size they
// are positions.
struct GpuRing {
  std::uint64_t begin{};
  std::uint64_t end{};
  std::uint64_t copies_begun{};  // opened so far, ...
  std::uint64_t copies_ended{};  // ... and of these, no longer in use
};

class GpuStaging {
 public:
  // Null, with the reason, if the context has no room or is gone.
  [[nodiscard]] static std::unique_ptr<GpuStaging> make(const cuda::Driver& driver,
                                                        cuda::Context context, cuda::Status& why);
  ~GpuStaging();
  GpuStaging(const GpuStaging&) = delete;
  GpuStaging& operator=(const GpuStaging&) = delete;

  [[nodiscard]] cuda::Context context() const { return context_; }
  // No copy can succeed any more.
  [[nodiscard]] bool dead() const { return dead_; }
  void give_up(const char* why);
  // In the child of a fork(): the driver must not be called, and the memory is not mapped.
  void leave_to_parent() { dead_ = true; }

  [[nodiscard]] std::byte* window(std::size_t index) const;
  [[nodiscard]] cuda::Event window_event(std::size_t index) const { return events_[index]; }
  [[nodiscard]] std::span<std::byte> ring() const;
  [[nodiscard]] cuda::Event ring_event(std::uint64_t copy) const {
    return events_[kGpuWindows + copy % kGpuRingCopies];
  }
  [[nodiscard]] std::span<std::byte> words() const;

  // Each begins a copy, whose end `done` tells, and returns false if it cannot begin.
  //
  // From the GPU, in any order with writes, except that it begins after the event `after`, if any.
  [[nodiscard]] bool fetch(std::byte* to, std::uint64_t from, std::size_t length, cuda::Event done,
                           cuda::Event after);
  // To the GPU, after all earlier writes.
  [[nodiscard]] bool write(std::uint64_t to, const std::byte* from, std::size_t length,
                           cuda::Event done);
  // From the GPU, after all earlier writes; waits for it.
  [[nodiscard]] bool read_now(std::byte* to, std::uint64_t from, std::size_t length);
  // To the GPU, after all earlier writes; waits for it.
  [[nodiscard]] bool write_now(std::uint64_t to, const std::byte* from, std::size_t length);

  GpuRing ring_use;

  [[nodiscard]] LateMemory::Progress progress(cuda::Event event);
  // Polls until the event has happened; gives the context up after some seconds.
  [[nodiscard]] bool wait(cuda::Event event);

 private:
  GpuStaging(const cuda::Driver& driver, cuda::Context context)
      : driver_{driver}, context_{context} {}
  [[nodiscard]] cuda::Status prepare();
  [[nodiscard]] bool begun(cuda::Status status, const char* what, std::uint64_t address,
                           std::size_t length);
  [[nodiscard]] bool record(cuda::Event done, cuda::Stream stream);
  [[nodiscard]] cuda::Event word_event() const { return events_.back(); }

  const cuda::Driver& driver_;
  const cuda::Context context_;
  std::byte* memory_{};
  bool registered_{};
  bool dead_{};
  unsigned failures_logged_{};
  cuda::Stream fetches_{};
  cuda::Stream writes_{};
  std::array<cuda::Event, kGpuWindows + kGpuRingCopies + 1> events_{};
};

}  // namespace nerve::host
