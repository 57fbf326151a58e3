// How long the background thread keeps looking for frames before it sleeps.
//
// Where frames come in bursts with short gaps between them, a thread that sleeps in each gap has to
// be woken for each burst, which can take longer than the gap. As a hypervisor does for an idle
// virtual CPU (halt polling), it spins for longer after sleeps that turned out to be short, and
// briefly again after a long one.
#pragma once

#include <algorithm>

#include "base/time.h"

namespace nerve::host {

class HaltPolling {
 public:
  static constexpr Duration kShortest = std::chrono::microseconds{20};
  static constexpr Duration kLongest = std::chrono::microseconds{200};

  [[nodiscard]] Duration spin() const { return spin_; }
  // Frames came after a sleep of this length.
  void slept(Duration length) {
    spin_ = length < kLongest ? std::min(spin_ * 2, kLongest) : kShortest;
  }

 private:
  Duration spin_{kShortest};
};

}  // namespace nerve::host
