// The host memory through which the bytes of one CUDA context pass, and the copies from and to it.
//
// The memory is our own and registered with CUDA, instead of allocated by it: it stays mapped when
// the program destroys the context.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "host/gpu/gpu_copies.h"

namespace nerve::host {

inline constexpr std::size_t kGpuWindows = 16;
inline constexpr std::size_t kGpuWindowSize = std::size_t{256} << 10U;
inline constexpr std::size_t kGpuRingSize = std::size_t{4} << 20U;
inline constexpr std::size_t kGpuRingCopies = 128;  // in flight
inline constexpr std::size_t kGpuWordsSize = std::size_t{64} << 10U;

inline constexpr std::size_t kGpuRingAt = kGpuWindows * kGpuWindowSize;
inline constexpr std::size_t kGpuWordsAt = kGpuRingAt + kGpuRingSize;
inline constexpr std::size_t kGpuStagingSize = kGpuWordsAt + kGpuWordsSize;

// One for each window, for each copy of the ring, and one for words.
inline constexpr GpuCopies::Slot kGpuSlots = kGpuWindows + kGpuRingCopies + 1;

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
  using Slot = GpuCopies::Slot;
  using Progress = GpuCopies::Progress;

  // The copies use this memory, of kGpuStagingSize bytes.
  GpuStaging(std::unique_ptr<GpuCopies> copies, std::byte* memory)
      : copies_{std::move(copies)}, memory_{memory} {}

  [[nodiscard]] bool dead() const { return copies_->dead(); }
  void leave_to_parent() { copies_->leave_to_parent(); }

  [[nodiscard]] std::byte* window(std::size_t index) const {
    return memory_ + index * kGpuWindowSize;
  }
  [[nodiscard]] static Slot window_slot(std::size_t index) { return static_cast<Slot>(index); }
  [[nodiscard]] std::span<std::byte> ring() const { return {memory_ + kGpuRingAt, kGpuRingSize}; }
  [[nodiscard]] static Slot ring_slot(std::uint64_t copy) {
    return static_cast<Slot>(kGpuWindows + copy % kGpuRingCopies);
  }
  [[nodiscard]] std::span<std::byte> words() const {
    return {memory_ + kGpuWordsAt, kGpuWordsSize};
  }

  // Each begins a copy and returns false if it cannot begin.
  //
  // Into a window, in any order with writes, except that it begins after the copy `after`, if any.
  [[nodiscard]] bool fetch(std::size_t window, std::uint64_t from, std::size_t length,
                           std::optional<Slot> after);
  // From an offset of the ring to the GPU, after all earlier writes.
  [[nodiscard]] bool write(std::uint64_t to, std::uint64_t ring_offset, std::size_t length,
                           Slot done);
  // Between the GPU and memory that another process has given to the same copier, after all earlier
  // writes.
  [[nodiscard]] bool send(std::uint64_t from, std::uint64_t to, std::size_t length, Slot done);
  [[nodiscard]] bool take(std::uint64_t to, std::uint64_t from, std::size_t length, Slot done);
  // Between the GPU and the first bytes of words(), after all earlier writes. These wait.
  [[nodiscard]] bool read_words(std::uint64_t from, std::size_t length);
  [[nodiscard]] bool write_words(std::uint64_t to, std::size_t length);

  GpuRing ring_use;

  [[nodiscard]] Progress progress(Slot slot);
  // Polls until the copy has ended; gives the context up after some seconds.
  [[nodiscard]] bool wait(Slot slot);

 private:
  [[nodiscard]] bool begin(const GpuCopies::Copy& copy);

  std::unique_ptr<GpuCopies> copies_;
  std::byte* memory_;
};

}  // namespace nerve::host
