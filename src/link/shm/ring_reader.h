// The receiving end of a ring (ring_layout.h). The other side may be faulty or hostile: each number
// is copied out of the ring once and checked before it is used. The first impossible one breaks the
// ring permanently, because nothing after it can be located reliably.
//
// Payload is not copied here: delivered frames refer to the ring, whose space is released to the
// writer when deliver() returns. The writer could change payload meanwhile, but it could as well
// have sent something else.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "link/link.h"
#include "link/shm/ring_layout.h"

namespace nerve::link::shm {

struct RingReaderCounters {
  std::uint64_t frames{};
  std::uint64_t bytes{};    // of payload
  std::uint64_t damaged{};  // dropped: wrong ICRC, or malformed
  std::uint64_t broken{};   // one if the ring is broken
};

class RingReader final : public Ingress {
 public:
  // `memory` is a ring of that size from which nothing was read yet; it must outlive the reader.
  RingReader(MutableBytes memory, const RingSize& size);

  std::size_t receive(FrameSink& sink, std::size_t budget, Time now) override;

  // True if there is something to receive: the second check before sleeping (doorbell.h).
  [[nodiscard]] bool pending() const;

  enum class State : std::uint8_t { kGood, kBroken };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const RingReaderCounters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kBatch = 64;

  static_assert(kBatch >= kMaxRunFrames);

  // kLater: the frames of this slot do not fit in this batch.
  enum class Step : std::uint8_t { kRead, kEmpty, kLater, kBad };
  [[nodiscard]] Step read_slot(std::size_t limit);
  [[nodiscard]] Step read_frame(const Commit& commit, std::byte* slot);
  [[nodiscard]] Step read_run(const Commit& commit, const std::byte* slot, std::size_t limit);
  [[nodiscard]] Step read_bytes(const Commit& commit, std::byte* slot);
  [[nodiscard]] Step read_flow(const Commit& commit, const std::byte* slot);
  [[nodiscard]] std::byte* slot_at(std::uint64_t index) const;
  [[nodiscard]] std::uint32_t stale_turn() const;
  // The address of `length` bytes: in the slot after `used` bytes, or in the data.
  [[nodiscard]] const std::byte* locate(std::byte* slot, std::size_t used, std::uint32_t length);
  void gather_batch(std::size_t limit);
  void release();

  std::byte* header_;
  std::byte* slots_;
  std::byte* data_;
  std::uint32_t slot_count_;
  std::uint32_t data_bytes_;

  std::uint64_t tail_{};  // slots ever read
  DataCursor cursor_;
  std::uint64_t released_slots_{};
  std::uint64_t released_data_{};
  bool ran_empty_{};
  State state_{State::kGood};
  std::bitset<kFlows> announced_;
  std::array<wire::Flow, kFlows> flows_{};
  std::array<wire::Frame, kBatch> frames_{};
  std::array<wire::Piece, kBatch> pieces_{};
  std::size_t count_{};  // frames in the batch
  RingReaderCounters counters_;
};

}  // namespace nerve::link::shm
