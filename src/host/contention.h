// Whether other threads compete for the CPUs on which this process polls.
//
// The kernel preempts a running thread only when another one is ready to run. Single involuntary
// context switches happen on every machine; two within a short time mean that there are fewer CPUs
// than runnable threads. A thread that sleeps instead of polling is not preempted any more, so the
// finding stays valid for a while. When it is found again soon after it expired, one switch is
// enough, and it stays valid for twice as long.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve::host {

class Contention {
 public:
  // Polling threads had so many more involuntary context switches.
  void saw_switches(std::uint64_t count, Time now);
  [[nodiscard]] bool present(Time now);

 private:
  static constexpr Duration kShortest = std::chrono::milliseconds{100};

  std::uint32_t switches_{};  // since began_
  Time began_{};
  bool found_{};  // ever
  bool present_{};
  Time ends_{};
  Duration believed_for_{kShortest};
};

// Involuntary context switches of the calling thread since its last call. Asks the kernel at most
// once in 200 us; returns zero in between, and the first time.
[[nodiscard]] std::uint64_t new_involuntary_switches(Time now);

}  // namespace nerve::host
