// Laps that many run, each at its own pace: iterations of a collective, steps of training, rounds
// of flows. A lap takes as long as the slowest needs.
#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

class Laps {
 public:
  Laps(std::uint32_t laps, std::uint32_t runners) : runners_{runners}, laps_(laps) {}

  // One more has ended this lap.
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

  // Of each complete lap: since the slowest ended the one before.
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
  std::uint32_t complete_{};  // nobody ends a lap before the one before it, so they end in order
  std::vector<Lap> laps_;
};

}  // namespace nerve::sim
