// Whether other threads compete for the CPUs on which this process polls.
//
// The kernel preempts a running thread only when another one is ready to run. Single preemptions
// happen on every machine, and so do those by threads that soon sleep again; two long ones within
// a short time mean that there are fewer CPUs than runnable threads. A thread that sleeps instead
// of polling is not preempted any more, so the finding stays valid for a while. When it is found
// again soon after it expired, one is enough, and it stays valid for twice as long.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve::host {

class Contention {
 public:
  // Threads that spin were preempted so many more times.
  void saw_preemptions(std::uint64_t count, Time now);
  [[nodiscard]] bool present(Time now);

 private:
  static constexpr Duration kShortest = std::chrono::milliseconds{100};

  std::uint32_t preemptions_{};  // since began_
  Time began_{};
  bool found_{};  // ever
  bool present_{};
  Time ends_{};
  Duration believed_for_{kShortest};
};

// How often the calling thread was preempted since its last call, if that took 200 us or more of
// its time. Asks the kernel at most once in 200 us; returns zero in between, and the first time.
[[nodiscard]] std::uint64_t new_preemptions(Time now);

}  // namespace nerve::host
