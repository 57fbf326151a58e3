#include "link/shm/ring_writer.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace nerve::link::shm {
namespace {

// A frame takes up to two slots: its own, and one that announces its flow.
constexpr std::uint32_t kSlotsPerFrame = 2;
// One slot in this many is reserved for frames without payload, so that ACKs fit in a full ring.
constexpr std::uint32_t kKeptForBare = 32;

std::uint8_t flow_hash(const wire::Flow& flow) {
  const auto destination = std::bit_cast<std::array<std::uint64_t, 2>>(flow.destination.bytes);
  std::uint64_t mixed = destination[1] ^ (std::uint64_t{flow.source_port} << 16U) ^
                        flow.traffic_class ^ std::uint64_t{flow.flow_label};
  mixed *= 0x9e37'79b9'7f4a'7c15;
  return static_cast<std::uint8_t>(mixed >> 58U);
}
static_assert(kFlows == 1U << (64 - 58));

void copy_piece(const wire::Piece& piece, std::byte* to) {
  if (piece.length == 0) return;  // its address may be null
  if (piece.port == nullptr) {
    std::memcpy(to, reinterpret_cast<const std::byte*>(piece.address), piece.length);
  } else if (piece.port->has_contents()) {
    piece.port->read(piece.address, {to, piece.length});
  } else {
    std::memset(to, 0, piece.length);
  }
}

// True if `next` is the packet after `frame`: next PSN, adjacent memory, all else equal. Headers
// beyond the BTH are not compared, because such packets have none.
bool repeats(const wire::Frame& frame, const wire::Frame& next) {
  wire::Bth expected = frame.headers.bth;
  expected.psn = expected.psn + 1;
  if (next.headers.bth != expected || next.payload_length != frame.payload_length ||
      next.payload.size() != 1 || next.payload[0].port != nullptr) {
    return false;
  }
  return next.payload[0].address == frame.payload[0].address + frame.payload_length &&
         next.flow == frame.flow;
}

}  // namespace

RingWriter::RingWriter(MutableBytes memory, const RingSize& size, const Doorbell& doorbell)
    : header_{memory.data()},
      slots_{memory.data() + kHeaderPage},
      data_{slots_ + std::size_t{size.slots} * kLine},
      slot_count_{size.slots},
      data_bytes_{size.data_bytes},
      doorbell_{doorbell},
      cursor_{size.data_bytes} {
  CHECK(size.valid() && memory.size() >= size.bytes());
}

void RingWriter::send(std::span<const wire::Frame> frames, Time /*now*/) {
  while (!frames.empty()) {
    std::size_t done = put_run(frames);
    if (done == 0) {
      put(frames.front());
      done = 1;
    }
    frames = frames.subspan(done);
  }
  finish();
}

std::size_t RingWriter::put_run(std::span<const wire::Frame> frames) {
  const wire::Frame& first = frames.front();
  const std::uint32_t length = first.payload_length;
  if (frames.size() < 2 || length == 0 || first.payload.size() != 1 ||
      first.payload[0].port != nullptr || first.headers.size() != wire::Bth::kSize) {
    return 0;
  }
  // Grants rely on every byte up to the end of the data, so a run must not skip more than a frame
  // would.
  const std::uint32_t bytes = std::min(kMaxRunBytes, cursor_.to_the_end());
  const std::size_t most = std::min<std::size_t>({frames.size(), kMaxRunFrames, bytes / length});
  std::uint32_t count = 1;
  while (count < most && repeats(frames[count - 1], frames[count])) ++count;
  if (count < 2) return 0;
  const FlowSlot flow = find_flow(first.flow);
  if (!flow.announced || !fits(1, count * length)) return 0;
  last_flow_ = flow.index;
  std::byte* const slot = begin_slot();
  first.headers.encode({slot + kCommitSize, kSlotRoom});
  std::memcpy(slot + kCommitSize + kRunCountAt, &count, sizeof count);
  std::memcpy(data_ + cursor_.take(count * length),
              reinterpret_cast<const std::byte*>(first.payload[0].address), count * length);
  seal_slot(SlotKind::kRun, flow.index, length, count);
  counters_.bytes += std::uint64_t{count} * length;
  return count;
}

void RingWriter::put(const wire::Frame& frame) {
  const std::uint32_t length = frame.payload_length;
  const std::size_t headers = frame.headers.size();
  const FlowSlot flow = find_flow(frame.flow);
  const bool in_slot = headers + length <= kSlotRoom;
  if (length > kMaxBytes || !fits(flow.announced ? 1 : kSlotsPerFrame, in_slot ? 0 : length)) {
    ++counters_.dropped;
    return;
  }
  if (!flow.announced) announce_flow(flow.index, frame.flow);
  last_flow_ = flow.index;
  std::byte* const slot = begin_slot();
  frame.headers.encode({slot + kCommitSize, kSlotRoom});
  std::byte* to = payload_place(slot, headers, length);
  const std::byte* const end = to + length;
  for (const wire::Piece& piece : frame.payload) {
    CHECK(piece.length <= static_cast<std::size_t>(end - to));
    copy_piece(piece, to);
    to += piece.length;
  }
  CHECK(to == end);
  seal_slot(frame.placed ? SlotKind::kPlaced : SlotKind::kFrame, flow.index, length);
  counters_.bytes += length;
}

void RingWriter::send_bytes(const wire::Flow& flow, Bytes udp_payload, Time /*now*/) {
  const FlowSlot known = find_flow(flow);
  const auto length = static_cast<std::uint32_t>(std::min<std::size_t>(udp_payload.size(), ~0U));
  const bool in_slot = length <= kSlotRoom;
  if (length > kMaxBytes || !fits(kSlotsPerFrame, in_slot ? 0 : length)) {
    ++counters_.dropped;
    return;
  }
  if (!known.announced) announce_flow(known.index, flow);
  std::byte* const slot = begin_slot();
  if (length > 0) std::memcpy(payload_place(slot, 0, length), udp_payload.data(), length);
  seal_slot(SlotKind::kBytes, known.index, length);
  finish();
}

RingWriter::FlowSlot RingWriter::find_flow(const wire::Flow& flow) const {
  const KnownFlow& last = flows_[last_flow_];
  if (last.announced && last.flow == flow) return {.index = last_flow_, .announced = true};
  const std::uint8_t index = flow_hash(flow);
  const KnownFlow& known = flows_[index];
  return {.index = index, .announced = known.announced && known.flow == flow};
}

void RingWriter::announce_flow(std::uint8_t index, const wire::Flow& flow) {
  std::byte* const slot = begin_slot();
  encode_flow(flow, std::span<std::byte, kFlowSize>{slot + kCommitSize, kFlowSize});
  flows_[index] = {.flow = flow, .announced = true};
  seal_slot(SlotKind::kFlow, index, 0);
}

std::byte* RingWriter::payload_place(std::byte* slot, std::size_t used, std::uint32_t length) {
  if (used + length <= kSlotRoom) return slot + kCommitSize + used;
  return data_ + cursor_.take(length);
}

void RingWriter::seal_slot(SlotKind kind, std::uint8_t flow, std::uint32_t length,
                           std::uint32_t frames) {
  ++head_;
  sealed_ = Commit{.turn = static_cast<std::uint32_t>(head_),
                   .length = static_cast<std::uint16_t>(length),
                   .flow = flow,
                   .kind = static_cast<std::uint8_t>(kind)}
                .pack();
  if (kind != SlotKind::kFlow) counters_.frames += frames;
}

// Pairs with the acquire in RingReader::read_slot: a reader that sees the commit word sees the slot
// and its data.
template <std::memory_order order>
void RingWriter::publish() {
  if (sealed_ == 0) return;
  std::byte* const slot = slots_ + ((head_ - 1) & (slot_count_ - 1)) * kLine;
  annotate_release();
  shared_word(slot).store(sealed_, order);
  sealed_ = 0;
}

std::byte* RingWriter::begin_slot() {
  publish<std::memory_order_release>();
  return slots_ + (head_ & (slot_count_ - 1)) * kLine;
}

void RingWriter::finish() {
  take_back_grants();
  if (doorbell_.wants_seq_cst()) {
    publish<std::memory_order_seq_cst>();
  } else {
    publish<std::memory_order_release>();
  }
  if (doorbell_.ring()) ++counters_.wakes;
}

bool RingWriter::fits(std::uint32_t slots, std::uint32_t data_length) {
  const auto enough = [&] {
    const std::uint64_t data = data_length == 0 ? 0 : cursor_.step(data_length);
    return head_ + slots - slots_done_ <= slot_count_ &&
           cursor_.position() + data - data_done_ <= data_bytes_;
  };
  if (broken_) return false;
  if (enough()) return true;
  look_at_reader();
  return !broken_ && enough();
}

// Pairs with the releases in RingReader::release: the reader no longer reads what it reports as
// consumed.
void RingWriter::look_at_reader() {
  const std::uint64_t slots = shared_word(header_ + kSlotsDoneAt).load(std::memory_order_acquire);
  const std::uint64_t data = shared_word(header_ + kDataDoneAt).load(std::memory_order_acquire);
  // The counts can only grow, and not beyond what was written. Anything else is a faulty reader.
  if (slots - slots_done_ > head_ - slots_done_ ||
      data - data_done_ > cursor_.position() - data_done_) {
    broken_ = true;
    return;
  }
  slots_done_ = slots;
  data_done_ = data;
}

std::uint32_t RingWriter::room_as_known() const {
  const std::uint64_t kept = slot_count_ / kKeptForBare;
  const std::uint64_t slots = (free_slots() - std::min(free_slots(), kept)) / kSlotsPerFrame;
  const std::uint64_t free = data_bytes_ - (cursor_.position() - data_done_);
  // Whole frames up to the end of the data, then whole frames from its start.
  const std::uint64_t to_the_end = cursor_.to_the_end();
  const std::uint64_t before = std::min(free, to_the_end) / kMaxSpan;
  const std::uint64_t after = free > to_the_end ? (free - to_the_end) / kMaxSpan : 0;
  return static_cast<std::uint32_t>(std::min(slots, before + after));
}

std::uint32_t RingWriter::room() {
  if (!broken_) look_at_reader();
  return broken_ ? 0 : room_as_known();
}

std::uint32_t RingWriter::grant(std::uint32_t wanted) {
  if (broken_) return 0;
  std::uint32_t known = room_as_known();
  if (known < std::uint64_t{granted_} + wanted) known = room();
  const std::uint32_t given = known > granted_ ? std::min(wanted, known - granted_) : 0;
  granted_ += given;
  return given;
}

bool RingWriter::grant_bare() {
  if (broken_) return false;
  const std::uint64_t promised = std::uint64_t{granted_} + granted_bare_;
  const auto enough = [&] { return free_slots() / kSlotsPerFrame > promised; };
  if (!enough()) look_at_reader();
  if (broken_ || !enough()) return false;
  ++granted_bare_;
  return true;
}

}  // namespace nerve::link::shm
