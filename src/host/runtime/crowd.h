// Whether more threads of the program poll than they have processors.
//
// A thread that polls in vain uses up its time slice, milliseconds, while the thread whose message
// would end its wait may be one that has no processor. So when there is a crowd, a poll that finds
// nothing gives way (sched_yield). Without a crowd it must not: what gets the processor then is
// another program, and the poll's latency would be that program's time slice.
#pragma once

#include <bitset>

#include "base/time.h"

namespace nerve::host {

class Crowd {
 public:
  // The calling thread polls.
  void saw_poller(Time now);
  // Within this period or the last.
  [[nodiscard]] bool crowded() const { return crowded_ || crowded_in_period_; }

 private:
  // Bits for threads, by a hash, so that a few too few are counted in a crowd; and for the
  // processors on which they polled, which may be fewer than the machine has.
  std::bitset<64> threads_;
  std::bitset<1024> processors_;
  Time period_began_{};
  bool crowded_{};  // in the last period
  bool crowded_in_period_{};
};

}  // namespace nerve::host
