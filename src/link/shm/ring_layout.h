// The memory of a ring: one process writes frames into it, another (or the same) reads them.
//
//    0         8   magic
//    8         4   number of slots, a power of two
//   12         4   bytes of data, a power of two
//  128         8   slots that the reader has consumed      \ written only by the reader,
//  136         8   bytes of data that it has consumed      / in their own cache line
// 4096           slots, 64 bytes each
//                data
//
// A slot is one cache line and holds one record:
//
//    0         8   commit word
//    8     up to   headers as on the wire, then payload if all of it fits; or a flow; or bytes;
//                  or the BTH of a run, then a count of 4 bytes
//
// The commit word, in this machine's byte order:
//
//    bits 0..31   turn: how many slots were ever written, including this one
//    bits 32..47  length: bytes of payload (frame; each frame of a run) or of the packet (bytes)
//    bits 48..55  flow: index of a flow that was announced in the ring before
//    bits 56..63  kind
//
// A reader polls one slot until its turn comes up. A commit word of an earlier lap has another
// turn, and payload never overlaps a commit word, so slots need not be cleared, and there is no
// shared head index: a small message moves exactly one cache line between cores. The writer needs
// the reader's progress only when it runs short of room, so in the steady state neither side reads
// a line that the other writes, except the slots themselves.
//
// Payload that does not fit into its slot is in the data area, at a place that both sides compute
// by the same rule (DataCursor): the ring contains no offsets that a faulty peer could get wrong.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/result.h"
#include "seal/sealed_packet.h"
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
// The largest packet, from BTH to ICRC, or to the tag of a sealed one.
inline constexpr std::uint32_t kMaxBytes =
    kMaxPayload + wire::kMaxHeadersSize + 3 + std::max(wire::kIcrcSize, seal::kOverhead);
// The most data that one slot uses.
inline constexpr std::uint32_t kMaxSpan = (kMaxBytes + kLine - 1) / kLine * kLine;

// A run: consecutive middle packets of a message, which differ only in PSN and address, in one
// slot. Its payload is limited, so that the reader can start before all of a message is written.
inline constexpr std::uint32_t kMaxRunBytes = 16 * 1024;
inline constexpr std::uint32_t kMaxRunFrames = 64;
inline constexpr std::size_t kRunCountAt = wire::Bth::kSize;

// Flows that a ring remembers, so that a frame names its flow in one byte.
inline constexpr std::size_t kFlows = 64;
inline constexpr std::size_t kFlowSize = 40;
static_assert(kFlowSize <= kSlotRoom);

struct RingSize {
  std::uint32_t slots{4096};
  std::uint32_t data_bytes{1U << 19};
  friend bool operator==(const RingSize&, const RingSize&) = default;

  // Powers of two, with room for a few of the largest frames.
  [[nodiscard]] bool valid() const;
  // The size of the whole ring.
  [[nodiscard]] std::size_t bytes() const {
    return kHeaderPage + std::size_t{slots} * kLine + data_bytes;
  }
};

enum class RingError : std::uint8_t {
  kTooSmall,    // the memory is smaller than its header claims
  kMisaligned,  // it does not begin at a cache line
  kForeign,     // not a ring, or another version
  kBadSize,     // invalid sizes
};

// Initialises a ring in zeroed memory, which must hold size.bytes() and be page-aligned.
Result<RingSize, RingError> format_ring(MutableBytes memory, const RingSize& size);

// Reads and validates the size of a ring that another process created. The header is read only
// once; later changes of it have no effect.
Result<RingSize, RingError> inspect_ring(Bytes memory);

enum class SlotKind : std::uint8_t {
  kFrame = 1,   // headers and payload
  kBytes = 2,   // a packet from BTH to ICRC, which the reader validates
  kFlow = 3,    // announces a flow; contains no frame
  kRun = 4,     // the headers of its first frame, a count, and the payload of all frames
  kPlaced = 5,  // the headers of a WRITE whose payload was placed without the ring
};

struct Commit {
  std::uint32_t turn{};
  std::uint16_t length{};
  std::uint8_t flow{};
  std::uint8_t kind{};  // not a SlotKind yet: the other side wrote it

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

// Where the next data are. Both sides take the same steps from the same start: an item begins at a
// cache line and is never split; one that would run over the end starts at the beginning instead,
// and the skipped bytes are unused in that lap.
class DataCursor {
 public:
  explicit DataCursor(std::uint32_t bytes) : bytes_{bytes} {}

  // Bytes ever passed, including skipped ones.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  // How far position() will move for an item of `length` bytes.
  [[nodiscard]] std::uint64_t step(std::uint32_t length) const {
    const std::uint32_t span = (length + std::uint32_t{kLine} - 1) & ~(std::uint32_t{kLine} - 1);
    const std::uint32_t left = to_the_end();
    return span > left ? std::uint64_t{left} + span : span;
  }
  // Takes the item and returns its offset in the data.
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

// Writer and reader map a ring at different addresses. If both are in one process, ThreadSanitizer
// does not see that the commit word orders their accesses; these calls tell it.
#if defined(__SANITIZE_THREAD__)
inline char ring_order;
inline void annotate_release() { __tsan_release(&ring_order); }
inline void annotate_acquire() { __tsan_acquire(&ring_order); }
#else
inline void annotate_release() {}
inline void annotate_acquire() {}
#endif

// A word that both processes access.
[[nodiscard]] inline std::atomic_ref<std::uint64_t> shared_word(std::byte* at) {
  return std::atomic_ref<std::uint64_t>{*reinterpret_cast<std::uint64_t*>(at)};
}

}  // namespace nerve::link::shm
