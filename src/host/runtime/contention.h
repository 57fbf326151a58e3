// Detects that other threads compete for the CPUs on which this process polls.
//
// The kernel preempts a running thread only when another one is runnable. Single preemptions happen
// on every machine, as do preemptions by threads that soon sleep again; two long ones within a
// short time mean that there are more runnable threads than CPUs. A thread that sleeps instead of
// polling is not preempted any more, so the finding stays valid for a while. If contention is found
// again soon after that, one preemption is enough, and the finding stays valid for twice as long.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve::host {

class Contention {
 public:
  // Polling threads were preempted this many more times.
  void saw_preemptions(std::uint64_t count, Time now);
  [[nodiscard]] bool present(Time now);

 private:
  static constexpr Duration kShortest = std::chrono::milliseconds{100};

  std::uint32_t preemptions_{};  // since began_
  Time began_{};
  bool found_{};  // ever
  bool present_{};
  Time ends_{};
  Duration valid_for_{kShortest};
};

// How often the calling thread was preempted since its last call, if it lost at least 200 us by
// that. Asks the kernel at most every 200 us; returns zero in between, and the first time.
[[nodiscard]] std::uint64_t new_preemptions(Time now);

}  // namespace nerve::host
