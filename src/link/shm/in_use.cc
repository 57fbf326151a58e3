#include "link/shm/in_use.h"

#include <chrono>
#include <thread>

namespace nerve::link::shm {
namespace {

// A placement takes about a microsecond, unless its process lost the core.
constexpr int kLooksBeforeSleep = 1000;
constexpr std::chrono::microseconds kSleep{50};

}  // namespace

void wait_for_placements(std::span<const Placer> placers, const std::function<bool(pid_t)>& alive) {
  for (const Placer& placer : placers) {
    const std::uint64_t seen = placer.in_use->load(std::memory_order_seq_cst);
    if (seen % 2 == 0) continue;
    for (int looks = 0; placer.in_use->load(std::memory_order_acquire) == seen; ++looks) {
      if (looks < kLooksBeforeSleep) continue;
      if (!alive(placer.pid)) break;
      std::this_thread::sleep_for(kSleep);
    }
  }
}

}  // namespace nerve::link::shm
