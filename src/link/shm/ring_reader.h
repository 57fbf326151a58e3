// The receiving end of a ring (ring_layout.h). The other side may be broken or hostile: each
// number is copied out of the ring once and checked before it is used. The first impossible one
// ends the ring for good, for nothing after it can be trusted to be where it should.
//
// Payload is not copied here: delivered frames refer to the ring, whose space goes back to the
// writer when deliver() returns. The writer could change payload in the meantime; it could as well
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
  std::uint64_t damaged{};  // packets whose ICRC or form was wrong, dropped
  std::uint64_t broken{};   // one, when the ring has ended
};

class RingReader final : public Ingress {
 public:
  // `memory` is a ring of that size from which nothing was read yet, and outlives the reader.
  RingReader(MutableBytes memory, const RingSize& size);

  std::size_t receive(FrameSink& sink, std::size_t budget, Time now) override;

  // Whether there is something to receive: the second look before falling asleep (doorbell.h).
  [[nodiscard]] bool pending() const;

  enum class State : std::uint8_t { kGood, kBroken };
  [[nodiscard]] State state() const { return state_; }
  [[nodiscard]] const RingReaderCounters& counters() const { return counters_; }

 private:
  static constexpr std::size_t kBatch = 64;

  static_assert(kBatch >= kMaxRunFrames);

  // kLater: the frames of this slot are too many for this batch.
  enum class Step : std::uint8_t { kRead, kEmpty, kLater, kBad };
  [[nodiscard]] Step read_slot(std::size_t limit);
  [[nodiscard]] Step read_frame(const Commit& commit, std::byte* slot);
  [[nodiscard]] Step read_run(const Commit& commit, const std::byte* slot, std::size_t limit);
  [[nodiscard]] Step read_bytes(const Commit& commit, std::byte* slot);
  [[nodiscard]] Step read_flow(const Commit& commit, const std::byte* slot);
  [[nodiscard]] std::byte* slot_at(std::uint64_t index) const;
  [[nodiscard]] std::uint32_t stale_turn() const;
  // Where `length` bytes lie: in the slot after `used` bytes, or in the data.
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
  std::bitset<kFlows> told_;
  std::array<wire::Flow, kFlows> flows_{};
  std::array<wire::Frame, kBatch> frames_{};
  std::array<wire::Piece, kBatch> pieces_{};
  std::size_t count_{};  // of the frames in the batch
  RingReaderCounters counters_;
};

}  // namespace nerve::link::shm
