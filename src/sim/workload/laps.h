// Laps of several participants, each at its own pace: iterations of a collective, training steps,
// rounds of flows. A lap ends when the slowest participant has ended it.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

class Laps {
 public:
  Laps(std::uint32_t laps, std::uint32_t runners) : runners_{runners}, laps_(laps) {}

  // A participant has ended this lap.
  void ended(std::uint32_t lap, Time now) {
    laps_[lap].last = now;
    if (++laps_[lap].ended_by == runners_) ++complete_;
  }
  [[nodiscard]] bool done() const { return complete_ == laps_.size(); }
  [[nodiscard]] std::uint32_t laps() const { return static_cast<std::uint32_t>(laps_.size()); }
  [[nodiscard]] std::uint32_t complete() const { return complete_; }
  [[nodiscard]] std::uint32_t in_lap_ended(std::uint32_t lap) const { return laps_[lap].ended_by; }
  [[nodiscard]] std::uint32_t runners() const { return runners_; }
  [[nodiscard]] Time end() const { return complete_ == 0 ? Time{} : laps_[complete_ - 1].last; }

  // Per complete lap: the time since the end of the previous one.
  [[nodiscard]] std::vector<Duration> durations(Time start) const {
    std::vector<Duration> all(complete_);
    for (std::uint32_t i = 0; i < complete_; ++i) {
      all[i] = laps_[i].last - (i == 0 ? start : laps_[i - 1].last);
    }
    return all;
  }

 private:
  struct Lap {
    Time last{};
    std::uint32_t ended_by{};
  };
  std::uint32_t runners_;
  std::uint32_t complete_{};  // laps complete in order
  std::vector<Lap> laps_;
};

}  // namespace nerve::sim
