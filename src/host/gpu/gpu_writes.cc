#include "host/gpu/gpu_writes.h"

#include <algorithm>
#include <cstring>

namespace nerve::host {
namespace {

using Progress = LateMemory::Progress;

// At this size a copy runs at the speed of the bus; larger ones would only land later.
constexpr std::uint64_t kLargestCopy = std::uint64_t{256} << 10U;
constexpr std::size_t kMaxFailures = 16;

}  // namespace

GpuWrites::GpuWrites() { failures_.reserve(kMaxFailures + 1); }

GpuWrites::Copy* GpuWrites::collecting() {
  if (empty() || at(tail_ - 1).begun) return nullptr;
  return &at(tail_ - 1);
}

void GpuWrites::begin(Copy& copy) {
  copy.begun = true;
  copy.failed = !copy.staging->write(copy.address, copy.offset % kGpuRingSize, copy.length,
                                     GpuStaging::ring_slot(copy.number));
}

void GpuWrites::begin_collected() {
  if (Copy* const copy = collecting()) begin(*copy);
}

void GpuWrites::add_failure(Failure failure) {
  if (!failures_.empty() && failures_.back().last + 1 >= failure.first) {
    failures_.back().last = std::max(failures_.back().last, failure.last);
    return;
  }
  failures_.push_back(failure);
  if (failures_.size() > kMaxFailures) {  // rather a failure too many than one forgotten
    failures_[1].first = failures_[0].first;
    failures_.erase(failures_.begin());
  }
}

bool GpuWrites::reap_oldest() {
  if (empty() || !at(head_).begun) return false;
  Copy& copy = at(head_);
  Progress reached = Progress::kFailed;
  if (!copy.failed) reached = copy.staging->progress(GpuStaging::ring_slot(copy.number));
  if (reached == Progress::kLater) return false;
  if (reached == Progress::kFailed) {
    add_failure({.first = copy.first, .last = std::max(copy.first, copy.last)});
  }
  landed_ = copy.last;
  copy.staging->ring_use.begin = copy.offset + copy.staged;
  ++copy.staging->ring_use.copies_ended;
  ++head_;
  return true;
}

void GpuWrites::reap() {
  while (reap_oldest()) {
  }
}

void GpuWrites::wait_for_oldest() {
  begin_collected();
  if (empty()) return;
  Copy& copy = at(head_);
  if (!copy.failed) (void)copy.staging->wait(GpuStaging::ring_slot(copy.number));
  (void)reap_oldest();
}

std::uint64_t GpuWrites::room(const GpuRing& ring) {
  const std::uint64_t unused = kGpuRingSize - (ring.end - ring.begin);
  return std::min(unused, kGpuRingSize - ring.end % kGpuRingSize);
}

bool GpuWrites::full(const GpuRing& ring) const {
  return tail_ - head_ == kCopies || ring.copies_begun - ring.copies_ended == kGpuRingCopies ||
         room(ring) == 0;
}

GpuWrites::Copy& GpuWrites::open(GpuStaging& staging, std::uint64_t address) {
  GpuRing& ring = staging.ring_use;
  begin_collected();
  if (full(ring)) reap();
  while (full(ring)) wait_for_oldest();
  Copy& copy = at(tail_++);
  copy = {.staging = &staging,
          .number = ring.copies_begun++,
          .address = address,
          .length = 0,
          .offset = ring.end,
          .staged = 0,
          .last = written_,
          .first = written_,
          .begun = false,
          .failed = false,
          .sends = false};
  return copy;
}

void GpuWrites::write(GpuStaging& staging, std::uint64_t address, Bytes from) {
  GpuRing& ring = staging.ring_use;
  ++written_;
  if (from.empty()) {
    if (empty()) landed_ = written_;
    if (!empty()) at(tail_ - 1).last = written_;
    return;
  }
  while (!from.empty()) {
    Copy* copy = collecting();
    // A copy does not continue at the begin of the ring.
    const bool continues = copy != nullptr && copy->staging == &staging &&
                           copy->address + copy->length == address && room(ring) > 0 &&
                           ring.end % kGpuRingSize != 0;
    if (!continues) copy = &open(staging, address);
    const std::uint64_t part =
        std::min({std::uint64_t{from.size()}, kLargestCopy - copy->length, room(ring)});
    std::memcpy(staging.ring().data() + ring.end % kGpuRingSize, from.data(), part);
    ring.end += part;
    copy->length += part;
    copy->staged += part;
    // A write lands with its last part.
    copy->last = part == from.size() ? written_ : written_ - 1;
    if (copy->length == kLargestCopy) begin(*copy);
    address += part;
    from = from.subspan(part);
  }
}

bool GpuWrites::copy(GpuStaging& staging, Direction direction, std::uint64_t address,
                     std::uint64_t other, std::uint64_t length) {
  begin_collected();
  if (full(staging.ring_use)) reap();
  if (full(staging.ring_use)) return false;
  Copy& copy = open(staging, address);
  const GpuStaging::Slot slot = GpuStaging::ring_slot(copy.number);
  copy.begun = direction == Direction::kSend ? staging.send(address, other, length, slot)
                                             : staging.take(address, other, length, slot);
  if (!copy.begun) {
    --staging.ring_use.copies_begun;
    --tail_;
    return false;
  }
  copy.length = length;
  copy.sends = direction == Direction::kSend;
  copy.first = copy.last = ++written_;
  return true;
}

void GpuWrites::fail() {
  ++written_;
  add_failure({.first = written_, .last = written_});
  if (empty()) {
    landed_ = written_;
  } else {
    at(tail_ - 1).last = written_;
  }
}

Progress GpuWrites::landed(Ticket after, Ticket last) {
  if (last > landed_) {
    const Copy* const copy = collecting();
    if (copy != nullptr && last >= copy->first) begin_collected();
    reap();
  }
  // Not only what has landed: a ticket behind a failure waits for nothing.
  for (const Failure& failure : failures_) {
    if (failure.first <= last && failure.last > after) return Progress::kFailed;
  }
  return last <= landed_ ? Progress::kDone : Progress::kLater;
}

std::optional<GpuCopies::Slot> GpuWrites::last_into(const GpuStaging& staging,
                                                    std::uint64_t address, std::uint64_t length) {
  reap();
  for (std::uint64_t index = tail_; index-- > head_;) {
    Copy& copy = at(index);
    if (copy.sends || copy.staging != &staging || copy.address >= address + length ||
        address >= copy.address + copy.length) {
      continue;
    }
    if (!copy.begun) begin(copy);
    if (!copy.failed) return GpuStaging::ring_slot(copy.number);
  }
  return std::nullopt;
}

bool GpuWrites::busy(std::uint64_t address, std::uint64_t length) {
  begin_collected();
  reap();
  for (std::uint64_t index = head_; index != tail_; ++index) {
    const Copy& copy = at(index);
    if (!copy.failed && copy.address < address + length && address < copy.address + copy.length) {
      return true;
    }
  }
  return false;
}

}  // namespace nerve::host
