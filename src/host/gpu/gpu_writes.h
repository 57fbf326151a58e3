// Writes to GPU memory that have not landed yet, in the order of their tickets.
//
// Each write is copied into the ring of its context's staging area. Writes to contiguous addresses
// are collected and become one copy, which begins when it is large enough, when another write is
// not contiguous with it, or when it is asked for. A context's copies land in order, because they
// use one stream. Copies of different contexts may not; a copy counts as landed when all before it
// have. Staging areas must outlive their copies.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/late_memory.h"
#include "host/gpu/gpu_staging.h"

namespace nerve::host {

class GpuWrites {
 public:
  using Ticket = LateMemory::Ticket;

  GpuWrites();

  // Waits for the oldest copy if the ring is full.
  void write(GpuStaging& staging, std::uint64_t address, Bytes from);
  // A copy between this memory and memory that another process has given to the same copier: counts
  // as a write. False if it cannot begin now.
  enum class Direction : std::uint8_t { kSend, kTake };
  [[nodiscard]] bool copy(GpuStaging& staging, Direction direction, std::uint64_t address,
                          std::uint64_t other, std::uint64_t length);
  // Counts a write that cannot be made.
  void fail();
  [[nodiscard]] Ticket written() const { return written_; }
  // Whether the writes after one ticket, up to and including another, have landed.
  [[nodiscard]] LateMemory::Progress landed(Ticket after, Ticket last);

  // Begins the copy of what was collected.
  void begin_collected();
  // The slot of the last copy into this range that has not landed, if any. Begins it, if necessary.
  [[nodiscard]] std::optional<GpuCopies::Slot> last_into(const GpuStaging& staging,
                                                         std::uint64_t address,
                                                         std::uint64_t length);
  [[nodiscard]] bool busy(std::uint64_t address, std::uint64_t length);

 private:
  struct Copy {
    GpuStaging* staging{};
    std::uint64_t number{};  // among the copies of its staging area
    std::uint64_t address{};
    std::uint64_t length{};
    std::uint64_t offset{};  // in the ring
    std::uint64_t staged{};  // bytes there
    Ticket last{};
    Ticket first{};
    bool begun{};
    bool failed{};
    bool sends{};  // reads from this address
  };
  struct Failure {
    Ticket first{};
    Ticket last{};
  };
  static constexpr std::size_t kCopies = 256;  // a power of two

  [[nodiscard]] bool empty() const { return head_ == tail_; }
  [[nodiscard]] Copy& at(std::uint64_t index) { return copies_[index % kCopies]; }
  // The copy that still collects; null if there is none.
  [[nodiscard]] Copy* collecting();
  static void begin(Copy& copy);
  // Removes the copies that have ended, from the oldest on.
  void reap();
  [[nodiscard]] bool reap_oldest();
  void wait_for_oldest();
  void add_failure(Failure failure);
  [[nodiscard]] bool full(const GpuRing& ring) const;
  [[nodiscard]] Copy& open(GpuStaging& staging, std::uint64_t address);
  // Bytes that a copy of this ring may take at its end without wrapping.
  [[nodiscard]] static std::uint64_t room(const GpuRing& ring);

  std::array<Copy, kCopies> copies_{};
  std::uint64_t head_{};  // the oldest
  std::uint64_t tail_{};  // behind the newest
  Ticket written_{};
  Ticket landed_{};
  std::vector<Failure> failures_;
};

}  // namespace nerve::host
