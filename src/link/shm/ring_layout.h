// The memory of a ring: one process writes frames into it, another (or the same) reads them.
//
//    0         8   magic
//    8         4   slots: how many there are, a power of two
//   12         4   bytes of data, a power of two
//  128         8   slots that the reader has done with     \ written by the reader alone,
//  136         8   bytes of data it has done with         / in a cache line of their own
// 4096           slots, 64 bytes each
//                data
//
// A slot is one cache line and says one thing:
//
//    0         8   commit word
//    8     up to   headers as on the wire, then payload if all of it fits; or a flow; or bytes;
//                  or the BTH of a run, then a count of 4 bytes
//
// The commit word, a number of this machine's byte order:
//
//    bits 0..31   turn: how many slots were ever written, this one included
//    bits 32..47  length: bytes of payload (frame; each frame of a run) or of the packet (bytes)
//    bits 48..55  flow: which of the flows that the ring has told
//    bits 56..63  kind
//
// A reader waits at one slot until its turn comes up. What an earlier lap left there has another
// turn, and payload never lies on a commit word, so nothing has to be cleared, and a small message
// moves one cache line from core to core.
//
// What does not fit into its slot lies in the data, at the place that both sides find by
// the same rule (DataCursor): there is no offset in the ring for anyone to get wrong.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "wire/frame.h"
#include "wire/icrc.h"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace nerve::link::shm {

inline constexpr std::size_t kLine = 64;
inline constexpr std::size_t kHeaderPage = 4096;
inline constexpr std::uint64_t kRingMagic = 0x3230'676e'6972'766e;  // "nvring02"

inline constexpr std::size_t kMagicAt = 0;
inline constexpr std::size_t kSlotsAt = 8;
inline constexpr std::size_t kDataBytesAt = 12;
inline constexpr std::size_t kSlotsDoneAt = 128;
inline constexpr std::size_t kDataDoneAt = 136;

inline constexpr std::size_t kCommitSize = 8;
inline constexpr std::size_t kSlotRoom = kLine - kCommitSize;
static_assert(wire::kMaxHeadersSize <= kSlotRoom);

inline constexpr std::uint32_t kMaxPayload = 4096;
// A whole packet, BTH to ICRC, of the largest payload.
inline constexpr std::uint32_t kMaxBytes =
    kMaxPayload + wire::kMaxHeadersSize + wire::kIcrcSize + 3;
// What the data of one slot takes at most.
inline constexpr std::uint32_t kMaxSpan = (kMaxBytes + kLine - 1) / kLine * kLine;

// A run: the middle packets of a message, which differ in PSN and place alone, in one slot. Not
// more than this of payload, so that the reader can begin before all of a message is written.
inline constexpr std::uint32_t kMaxRunBytes = 16 * 1024;
inline constexpr std::uint32_t kMaxRunFrames = 64;
inline constexpr std::size_t kRunCountAt = wire::Bth::kSize;

// Flows that a ring remembers, so that a frame names its own in one byte.
inline constexpr std::size_t kFlows = 64;
inline constexpr std::size_t kFlowSize = 40;
static_assert(kFlowSize <= kSlotRoom);

struct RingSize {
  std::uint32_t slots{4096};
  std::uint32_t data_bytes{1U << 19};
  friend bool operator==(const RingSize&, const RingSize&) = default;

  // Powers of two, and room for a few of the largest frames.
  [[nodiscard]] bool valid() const;
  // Of the whole ring in memory.
  [[nodiscard]] std::size_t bytes() const {
    return kHeaderPage + std::size_t{slots} * kLine + data_bytes;
  }
};

enum class RingError : std::uint8_t {
  kTooSmall,    // the memory does not hold what its header says
  kMisaligned,  // it does not begin at a cache line
  kForeign,     // no ring, or one of another version
  kBadSize,     // sizes that no ring has
};

// Makes a ring of zeroed memory, which must hold size.bytes() and start on a page.
Result<RingSize, RingError> format_ring(MutableBytes memory, const RingSize& size);

// Reads the size of a ring that someone else made. It is read once; what the header says later
// does not matter.
Result<RingSize, RingError> inspect_ring(Bytes memory);

enum class SlotKind : std::uint8_t {
  kFrame = 1,  // headers and payload
  kBytes = 2,  // a packet from BTH to ICRC, which the reader checks
  kFlow = 3,   // tells a flow; no frame
  kRun = 4,    // the headers of its first frame, a count, the payload of all
};

struct Commit {
  std::uint32_t turn{};
  std::uint16_t length{};
  std::uint8_t flow{};
  std::uint8_t kind{};  // not yet a SlotKind: the other side wrote it

  [[nodiscard]] constexpr std::uint64_t pack() const {
    return std::uint64_t{turn} | std::uint64_t{length} << 32U | std::uint64_t{flow} << 48U |
           std::uint64_t{kind} << 56U;
  }
  static constexpr Commit unpack(std::uint64_t word) {
    return {.turn = static_cast<std::uint32_t>(word),
            .length = static_cast<std::uint16_t>(word >> 32U),
            .flow = static_cast<std::uint8_t>(word >> 48U),
            .kind = static_cast<std::uint8_t>(word >> 56U)};
  }
  friend bool operator==(const Commit&, const Commit&) = default;
};

// Where the next data go. Both sides take the same steps from the same start: a run of bytes
// begins on a cache line and is never split; one that would run over the end starts over at the
// beginning, and what it skips is lost for that lap.
class DataCursor {
 public:
  explicit DataCursor(std::uint32_t bytes) : bytes_{bytes} {}

  // Bytes that were ever passed, skipped ones included.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // How far position() will move for a run of `length` bytes.
  [[nodiscard]] std::uint64_t step(std::uint32_t length) const {
    const std::uint32_t span = (length + std::uint32_t{kLine} - 1) & ~(std::uint32_t{kLine} - 1);
    const std::uint32_t left = to_the_end();
    return span > left ? std::uint64_t{left} + span : span;
  }
  // Takes the run and tells its offset in the data.
  std::uint32_t take(std::uint32_t length) {
    const std::uint64_t moved = step(length);
    const std::uint32_t left = to_the_end();
    const std::uint32_t offset = moved > left ? 0 : bytes_ - left;
    position_ += moved;
    return offset;
  }
  // Bytes before the end; never zero.
  [[nodiscard]] std::uint32_t to_the_end() const {
    return bytes_ - (static_cast<std::uint32_t>(position_) & (bytes_ - 1));
  }

 private:
  std::uint32_t bytes_;
  std::uint64_t position_{};
};

void encode_flow(const wire::Flow& flow, std::span<std::byte, kFlowSize> out);
[[nodiscard]] wire::Flow decode_flow(std::span<const std::byte, kFlowSize> in);

// Writer and reader map a ring at different addresses, so ThreadSanitizer does not see that the one
// orders what the other does, where both are in one process. These tell it.
#if defined(__SANITIZE_THREAD__)
inline char ring_order;
inline void tell_of_release() { __tsan_release(&ring_order); }
inline void tell_of_acquire() { __tsan_acquire(&ring_order); }
#else
inline void tell_of_release() {}
inline void tell_of_acquire() {}
#endif

// A word that both processes see.
[[nodiscard]] inline std::atomic_ref<std::uint64_t> shared_word(std::byte* at) {
  return std::atomic_ref<std::uint64_t>{*reinterpret_cast<std::uint64_t*>(at)};
}

}  // namespace nerve::link::shm
