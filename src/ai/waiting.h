// How long a call may wait, and what else ends it.
#pragma once

#include <chrono>
#include <functional>

namespace nerve::ai {

using Clock = std::chrono::steady_clock;

struct Patience {
  Clock::time_point deadline;
  // Called every few milliseconds; true ends the call. Python passes its signal check.
  std::function<bool()> interrupted;

  [[nodiscard]] bool expired() const { return Clock::now() >= deadline; }
  [[nodiscard]] bool stop() const { return interrupted && interrupted(); }
  // Milliseconds to sleep before the next check of both.
  [[nodiscard]] int slice_ms() const {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    return left <= 0 ? 0 : static_cast<int>(left < 20 ? left + 1 : 20);
  }
};

}  // namespace nerve::ai
