#include "link/shm/ring_reader.h"

#include <algorithm>
#include <cstring>

#include "wire/packet.h"

namespace nerve::link::shm {
namespace {

// The hardware prefetcher restarts in each page, and a frame of 4096 bytes spans about a page. So
// the first lines of each are prefetched while the rest of the batch is still being decoded.
void prefetch(const std::byte* at, std::uint32_t length) {
  constexpr std::uint32_t kAhead = 16 * kLine;
  for (std::uint32_t i = 0; i < std::min(length, kAhead); i += kLine) __builtin_prefetch(at + i);
}

}  // namespace

RingReader::RingReader(MutableBytes memory, const RingSize& size)
    : header_{memory.data()},
      slots_{memory.data() + kHeaderPage},
      data_{slots_ + std::size_t{size.slots} * kLine},
      slot_count_{size.slots},
      data_bytes_{size.data_bytes},
      cursor_{size.data_bytes} {
  CHECK(size.valid() && memory.size() >= size.bytes());
}

std::size_t RingReader::receive(FrameSink& sink, std::size_t budget, Time now) {
  std::size_t delivered = 0;
  while (delivered < budget && state_ == State::kGood) {
    ran_empty_ = false;
    gather_batch(std::min(kBatch, budget - delivered));
    if (count_ > 0) {
      counters_.frames += count_;
      sink.deliver({frames_.data(), count_}, now);
      delivered += count_;
    }
    release();
    if (ran_empty_) break;
  }
  return delivered;
}

void RingReader::gather_batch(std::size_t limit) {
  count_ = 0;
  // Slots without a frame count as well, or a writer could keep us here forever.
  for (std::size_t looked_at = 0; count_ < limit && looked_at < 2 * kBatch; ++looked_at) {
    switch (read_slot(limit)) {
      case Step::kRead:
        ++tail_;
        break;
      case Step::kLater:
        return;
      case Step::kEmpty:
        ran_empty_ = true;
        return;
      case Step::kBad:
        state_ = State::kBroken;
        ++counters_.broken;
        return;
    }
  }
}

bool RingReader::pending() const {
  if (state_ == State::kBroken) return false;
  const std::uint64_t word = shared_word(slot_at(tail_)).load(std::memory_order_seq_cst);
  return Commit::unpack(word).turn != stale_turn();
}

RingReader::Step RingReader::read_slot(std::size_t limit) {
  std::byte* const slot = slot_at(tail_);
  // Pairs with the release in RingWriter::publish.
  const Commit commit = Commit::unpack(shared_word(slot).load(std::memory_order_acquire));
  annotate_acquire();
  if (commit.turn != static_cast<std::uint32_t>(tail_ + 1)) {
    return commit.turn == stale_turn() ? Step::kEmpty : Step::kBad;
  }
  if (commit.flow >= kFlows) return Step::kBad;
  switch (static_cast<SlotKind>(commit.kind)) {
    case SlotKind::kFrame:
    case SlotKind::kPlaced:
      return read_frame(commit, slot);
    case SlotKind::kBytes:
      return read_bytes(commit, slot);
    case SlotKind::kFlow:
      return read_flow(commit, slot);
    case SlotKind::kRun:
      return read_run(commit, slot, limit);
  }
  return Step::kBad;
}

RingReader::Step RingReader::read_frame(const Commit& commit, std::byte* slot) {
  if (commit.length > kMaxBytes || !announced_[commit.flow]) return Step::kBad;
  std::array<std::byte, kSlotRoom> bytes;  // a copy, so that it cannot change between check and use
  std::memcpy(bytes.data(), slot + kCommitSize, kSlotRoom);
  wire::Frame& frame = frames_[count_];
  wire::Piece& piece = pieces_[count_];
  const std::size_t headers = wire::Headers::decode_into(bytes, frame.headers);
  if (headers == 0) return Step::kBad;
  frame.flow = flows_[commit.flow];
  piece = {.address = reinterpret_cast<std::uint64_t>(locate(slot, headers, commit.length)),
           .length = commit.length};
  frame.payload = {&piece, commit.length > 0 ? 1U : 0U};
  frame.payload_length = commit.length;
  frame.placed = static_cast<SlotKind>(commit.kind) == SlotKind::kPlaced;
  counters_.bytes += commit.length;
  ++count_;
  return Step::kRead;
}

RingReader::Step RingReader::read_run(const Commit& commit, const std::byte* slot,
                                      std::size_t limit) {
  if (commit.length == 0 || commit.length > kMaxPayload) return Step::kBad;
  if (!announced_[commit.flow]) return Step::kBad;
  std::array<std::byte, wire::Bth::kSize> bytes;
  std::uint32_t count = 0;
  std::memcpy(bytes.data(), slot + kCommitSize, bytes.size());
  std::memcpy(&count, slot + kCommitSize + kRunCountAt, sizeof count);
  if (count == 0 || count > kMaxRunFrames) return Step::kBad;
  const std::uint32_t length = count * commit.length;
  if (length > std::min(kMaxRunBytes, data_bytes_)) return Step::kBad;
  if (count_ > 0 && count_ + count > limit) return Step::kLater;
  wire::Frame& first = frames_[count_];
  // decode_into() fails if the headers are longer than a BTH.
  if (wire::Headers::decode_into(bytes, first.headers) == 0) return Step::kBad;
  first.flow = flows_[commit.flow];
  first.placed = false;
  const std::byte* const at = data_ + cursor_.take(length);
  prefetch(at, length);
  for (std::uint32_t i = 0; i < count; ++i) {
    wire::Frame& frame = frames_[count_ + i];
    wire::Piece& piece = pieces_[count_ + i];
    if (i > 0) {
      frame.flow = first.flow;
      frame.headers = first.headers;
      frame.placed = false;
      frame.headers.bth.psn = first.headers.bth.psn + i;
    }
    piece = {.address = reinterpret_cast<std::uint64_t>(at) + std::uint64_t{i} * commit.length,
             .length = commit.length};
    frame.payload = {&piece, 1};
    frame.payload_length = commit.length;
  }
  counters_.bytes += length;
  count_ += count;
  return Step::kRead;
}

RingReader::Step RingReader::read_bytes(const Commit& commit, std::byte* slot) {
  if (commit.length > kMaxBytes || !announced_[commit.flow]) return Step::kBad;
  const Bytes bytes{locate(slot, 0, commit.length), commit.length};
  const auto packet = wire::decode_udp_payload(flows_[commit.flow], {}, bytes);
  if (!packet || packet->icrc != wire::IcrcVerdict::kGood) {
    ++counters_.damaged;
    return Step::kRead;
  }
  frames_[count_] = packet->frame(pieces_[count_]);
  counters_.bytes += frames_[count_].payload_length;
  ++count_;
  return Step::kRead;
}

RingReader::Step RingReader::read_flow(const Commit& commit, const std::byte* slot) {
  std::array<std::byte, kFlowSize> bytes;
  std::memcpy(bytes.data(), slot + kCommitSize, kFlowSize);
  flows_[commit.flow] = decode_flow(bytes);
  announced_.set(commit.flow);
  return Step::kRead;
}

const std::byte* RingReader::locate(std::byte* slot, std::size_t used, std::uint32_t length) {
  if (used + length <= kSlotRoom) return slot + kCommitSize + used;
  const std::byte* const at = data_ + cursor_.take(length);
  prefetch(at, length);
  return at;
}

std::byte* RingReader::slot_at(std::uint64_t index) const {
  return slots_ + (index & (slot_count_ - 1)) * kLine;
}

// The turn in the slot at tail_ until it is written: that of the previous lap, or zero.
std::uint32_t RingReader::stale_turn() const {
  return tail_ < slot_count_ ? 0 : static_cast<std::uint32_t>(tail_ + 1 - slot_count_);
}

// Pairs with the acquires in RingWriter::look_at_reader: our reads happen before the space is
// reused. Progress is published rarely, so that this cache line stays with the reader until the
// writer needs room.
void RingReader::release() {
  const std::uint64_t slots = tail_ - released_slots_;
  const std::uint64_t data = cursor_.position() - released_data_;
  const bool due = ran_empty_ || slots >= slot_count_ / 8 || data >= data_bytes_ / 8;
  if (!due || slots == 0) return;
  released_slots_ = tail_;
  released_data_ = cursor_.position();
  shared_word(header_ + kSlotsDoneAt).store(released_slots_, std::memory_order_release);
  shared_word(header_ + kDataDoneAt).store(released_data_, std::memory_order_release);
}

}  // namespace nerve::link::shm
