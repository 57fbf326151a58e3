#include "host/gpu/gpu_staging.h"

#include <sched.h>

#include <chrono>

#include "host/runtime/clock.h"

namespace nerve::host {
namespace {

using Kind = GpuCopies::Kind;

// A copy takes microseconds, and milliseconds on a GPU that other processes share.
constexpr Duration kLongestCopy = std::chrono::seconds{5};
constexpr GpuCopies::Slot kWordSlot = kGpuSlots - 1;

}  // namespace

bool GpuStaging::begin(const GpuCopies::Copy& copy) { return !dead() && copies_->begin(copy); }

bool GpuStaging::fetch(std::size_t window, std::uint64_t from, std::size_t length,
                       std::optional<Slot> after) {
  return begin({.kind = Kind::kFetch,
                .gpu = from,
                .other = window * kGpuWindowSize,
                .length = length,
                .done = window_slot(window),
                .after = after});
}

bool GpuStaging::write(std::uint64_t to, std::uint64_t ring_offset, std::size_t length, Slot done) {
  return begin({.kind = Kind::kWrite,
                .gpu = to,
                .other = kGpuRingAt + ring_offset,
                .length = length,
                .done = done,
                .after = {}});
}

bool GpuStaging::send(std::uint64_t from, std::uint64_t to, std::size_t length, Slot done) {
  return begin(
      {.kind = Kind::kSend, .gpu = from, .other = to, .length = length, .done = done, .after = {}});
}

bool GpuStaging::take(std::uint64_t to, std::uint64_t from, std::size_t length, Slot done) {
  return begin(
      {.kind = Kind::kTake, .gpu = to, .other = from, .length = length, .done = done, .after = {}});
}

bool GpuStaging::read_words(std::uint64_t from, std::size_t length) {
  return begin({.kind = Kind::kReadBack,
                .gpu = from,
                .other = kGpuWordsAt,
                .length = length,
                .done = kWordSlot,
                .after = {}}) &&
         wait(kWordSlot);
}

bool GpuStaging::write_words(std::uint64_t to, std::size_t length) {
  return begin({.kind = Kind::kWrite,
                .gpu = to,
                .other = kGpuWordsAt,
                .length = length,
                .done = kWordSlot,
                .after = {}}) &&
         wait(kWordSlot);
}

GpuStaging::Progress GpuStaging::progress(Slot slot) {
  return dead() ? Progress::kFailed : copies_->progress(slot);
}

bool GpuStaging::wait(Slot slot) {
  const Time limit = now() + kLongestCopy;
  for (;;) {
    const Progress reached = progress(slot);
    if (reached != Progress::kLater) return reached == Progress::kDone;
    if (now() > limit) {
      copies_->give_up("a copy has not ended after 5 seconds");
      return false;
    }
    ::sched_yield();
  }
}

}  // namespace nerve::host
