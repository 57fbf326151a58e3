// How long the background thread spins for frames before it sleeps.
//
// If frames come in bursts with short gaps, a thread that sleeps in each gap has to be woken for
// each burst, which can take longer than the gap. Like a hypervisor with an idle virtual CPU (halt
// polling), the thread spins longer after sleeps that turned out to be short, and only briefly
// after a long one.
//
// If CPUs are few or contended it spins briefly, and not at all after several spins in vain: the
// next frame may depend on the thread whose CPU it occupies, as when a program spins on its own
// memory until a peer's WRITE arrives.
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

  explicit HaltPolling(std::uint32_t cpus) : few_cpus_{cpus <= kFewCpus} {}

  [[nodiscard]] Duration spin(bool contended) const {
    if (!few_cpus_ && !contended) return spin_;
    return vain_ < kOftenInVain || vain_ % kTryAgainAfter == 0 ? kShortest : Duration{};
  }
  // Frames came after a sleep of this length.
  void slept(Duration length) {
    spin_ = length < kLongest ? std::min(spin_ * 2, kLongest) : kShortest;
  }
  // Frames came while it was spinning, or did not.
  void found() { vain_ = 0; }
  void gave_up() { ++vain_; }

 private:
  static constexpr std::uint32_t kOftenInVain = 4;
  static constexpr std::uint32_t kTryAgainAfter = 32;

  bool few_cpus_;
  Duration spin_{kShortest};
  std::uint32_t vain_{};  // spins in a row that found nothing
};

}  // namespace nerve::host
