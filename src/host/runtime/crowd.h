// Detects that more threads of the program poll than they have CPUs.
//
// A thread that polls in vain uses up its time slice, several milliseconds, while the thread whose
// message it waits for may be the one without a CPU. So if the program's own threads outnumber
// their CPUs, an empty poll yields (sched_yield). Otherwise it must not: the CPU would go to
// another program, and the poll's latency would become that program's time slice.
#pragma once

#include <bitset>

#include "base/time.h"

namespace nerve::host {

class Crowd {
 public:
  // The calling thread polls.
  void saw_poller(Time now);
  // In the current period or the previous one.
  [[nodiscard]] bool crowded() const { return crowded_ || crowded_in_period_; }

 private:
  // A bit per thread, by a hash that may collide and so undercount a large crowd; and a bit per CPU
  // on which the threads polled, which may be fewer than the machine has.
  std::bitset<64> threads_;
  std::bitset<1024> processors_;
  Time period_began_{};
  bool crowded_{};  // in the previous period
  bool crowded_in_period_{};
};

}  // namespace nerve::host
