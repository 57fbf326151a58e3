#include "host/gpu/gpu_windows.h"

#include <algorithm>
#include <chrono>

#include "host/gpu/gpu_writes.h"

namespace nerve::host {
namespace {

// The engine asks again within microseconds, unless the QP waits for credits or is gone.
constexpr Duration kUnsentFor = std::chrono::milliseconds{10};
// Reading ahead leaves so many windows to messages that have none.
constexpr std::size_t kLeftToOthers = 4;

}  // namespace

GpuWindows::GpuWindows(GpuStaging& staging, GpuWrites& writes)
    : staging_{staging}, writes_{writes} {}

std::size_t GpuWindows::index_of(const Window& window) const {
  return static_cast<std::size_t>(&window - windows_.data());
}

GpuWindows::Window* GpuWindows::find(const LateMemory::Wanted& wanted, std::uint64_t address,
                                     std::uint64_t length) {
  const auto holds = [&](const Window& window) {
    return window.use != Use::kEmpty && window.engine == wanted.engine &&
           window.message == wanted.message && address >= window.address &&
           address + length <= window.end();
  };
  const auto found = std::ranges::find_if(windows_, holds);
  return found != windows_.end() ? &*found : nullptr;
}

LateMemory::Progress GpuWindows::settle(Window& window) {
  if (window.use != Use::kCopying) return LateMemory::Progress::kDone;
  const LateMemory::Progress reached = staging_.progress(GpuStaging::window_slot(index_of(window)));
  if (reached == LateMemory::Progress::kDone) window.use = Use::kFilled;
  if (reached == LateMemory::Progress::kFailed) window.use = Use::kEmpty;
  return reached;
}

GpuWindows::Window* GpuWindows::choose(Time at, bool unsent) {
  Window* best = nullptr;
  for (Window& window : windows_) {
    if (window.pinned) continue;
    if (window.use == Use::kEmpty) return &window;
    const bool sent = window.sent_to >= window.end();
    if (!sent && (!unsent || at - window.used < kUnsentFor)) continue;
    if (settle(window) == LateMemory::Progress::kLater) continue;
    const bool best_sent = best != nullptr && best->sent_to >= best->end();
    if (best == nullptr || (sent && !best_sent) ||
        (sent == best_sent && window.used < best->used)) {
      best = &window;
    }
  }
  return best;
}

bool GpuWindows::fill(Window& window, const LateMemory::Wanted& wanted, std::uint64_t address,
                      std::uint64_t length, Time at) {
  const std::size_t index = index_of(window);
  window = {};
  // A READ returns what WRITEs before it have written.
  if (!staging_.fetch(index, address, length, writes_.last_into(staging_, address, length))) {
    return false;
  }
  window.use = Use::kCopying;
  window.address = window.sent_to = address;
  window.length = length;
  window.engine = wanted.engine;
  window.message = wanted.message;
  window.used = at;
  return true;
}

std::size_t GpuWindows::spare() const {
  return static_cast<std::size_t>(std::ranges::count_if(windows_, [](const Window& window) {
    return !window.pinned && (window.use == Use::kEmpty ||
                              (window.use == Use::kFilled && window.sent_to >= window.end()));
  }));
}

// The next window begins with the first part that this one does not hold as a whole.
void GpuWindows::read_ahead(const Window& behind, const LateMemory::Wanted& wanted, Time at) {
  const std::uint64_t end = wanted.address + wanted.length + wanted.follow;
  const std::uint64_t parts = (behind.end() - wanted.address) / wanted.length;
  const std::uint64_t next = wanted.address + parts * wanted.length;
  if (next >= end) return;
  const std::uint64_t left = end - next;
  if (find(wanted, next, std::min<std::uint64_t>(left, wanted.length)) != nullptr) return;
  if (spare() <= kLeftToOthers) return;
  Window* const window = choose(at, false);
  if (window == nullptr) return;
  (void)fill(*window, wanted, next, std::min<std::uint64_t>(left, kGpuWindowSize), at);
}

LateMemory::Fetched GpuWindows::fetch(const LateMemory::Wanted& wanted, Time at) {
  using Progress = LateMemory::Progress;
  if (wanted.length > kGpuWindowSize || staging_.dead()) return {Progress::kFailed, nullptr};
  if (wanted.length == 0) return {Progress::kDone, staging_.window(0)};
  Window* window = find(wanted, wanted.address, wanted.length);
  if (window == nullptr) {
    window = choose(at, true);
    if (window == nullptr) return {Progress::kLater, nullptr};
    const std::uint64_t length =
        std::min<std::uint64_t>(wanted.length + wanted.follow, kGpuWindowSize);
    if (!fill(*window, wanted, wanted.address, length, at)) {
      return {Progress::kFailed, nullptr};
    }
    read_ahead(*window, wanted, at);
    return {Progress::kLater, nullptr};
  }
  if (const Progress reached = settle(*window); reached != Progress::kDone) {
    window->used = at;
    return {reached, nullptr};
  }
  window->pinned = true;
  window->used = at;
  const std::uint64_t there = (window->end() - wanted.address) / wanted.length;
  const auto parts =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(there, std::uint64_t{1} + wanted.more));
  window->sent_to =
      std::max(window->sent_to, wanted.address + std::uint64_t{parts} * wanted.length);
  read_ahead(*window, wanted, at);
  return {Progress::kDone, staging_.window(index_of(*window)) + (wanted.address - window->address),
          parts};
}

void GpuWindows::release(const void* engine) {
  for (Window& window : windows_) {
    if (window.engine == engine) window.pinned = false;
  }
}

bool GpuWindows::busy(std::uint64_t address, std::uint64_t length) {
  return std::ranges::any_of(windows_, [&](Window& window) {
    return window.use == Use::kCopying && window.address < address + length &&
           address < window.end() && settle(window) == LateMemory::Progress::kLater;
  });
}

}  // namespace nerve::host
