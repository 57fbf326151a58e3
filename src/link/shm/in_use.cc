#include "link/shm/in_use.h"

#include <chrono>
#include <thread>

namespace nerve::link::shm {
namespace {

// A placement takes about a microsecond, unless its process is preempted.
constexpr int kLooksBeforeSleep = 1000;
constexpr std::chrono::microseconds kSleep{50};

}  // namespace

std::optional<Placement> Placement::under_way(const std::atomic<std::uint64_t>& in_use) {
  const std::uint64_t number = in_use.load(std::memory_order_seq_cst);
  if (number % 2 == 0) return std::nullopt;
  return Placement{in_use, number};
}

void Placement::wait(const std::function<bool()>& alive) const {
  for (int looks = 0; !is_over(); ++looks) {
    if (looks < kLooksBeforeSleep) continue;
    if (!alive()) return;
    std::this_thread::sleep_for(kSleep);
  }
}

}  // namespace nerve::link::shm
