// How long the background thread keeps looking for frames before it sleeps.
//
// Where frames come in bursts with short gaps between them, a thread that sleeps in each gap has to
// be woken for each burst, which can take longer than the gap. As a hypervisor does for an idle
// virtual CPU (halt polling), it spins for longer after sleeps that turned out to be short, and
// briefly again after a long one. Where there are few CPUs it always spins briefly: other threads
// need them.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/time.h"

namespace nerve::host {

class HaltPolling {
 public:
  static constexpr Duration kShortest = std::chrono::microseconds{20};
  static constexpr Duration kLongest = std::chrono::microseconds{200};
  static constexpr std::uint32_t kFewCpus = 3;

  explicit HaltPolling(std::uint32_t cpus) : longest_{cpus > kFewCpus ? kLongest : kShortest} {}

  [[nodiscard]] Duration spin() const { return spin_; }
  // Frames came after a sleep of this length.
  void slept(Duration length) {
    spin_ = length < longest_ ? std::min(spin_ * 2, longest_) : kShortest;
  }

 private:
  Duration longest_;
  Duration spin_{kShortest};
};

}  // namespace nerve::host
