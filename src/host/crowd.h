// Whether more threads of the program poll than there are processors for.
//
// A thread that polls in vain uses up its time slice, milliseconds, while the thread whose message
// would end its wait may be one that has no processor. So when there is a crowd, a poll that finds
// nothing gives way (sched_yield). Without a crowd it must not: what gets the processor then is
// another program, and the poll's latency would be that program's time slice.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace nerve::host {

class Crowd {
 public:
  // The calling thread polls.
  void saw_poller(Time now);
  // Within this period or the last.
  [[nodiscard]] bool crowded() const { return crowded_ || crowded_in_period_; }

 private:
  std::uint64_t seen_{};  // a bit for each thread, by a hash: a few too few are counted in a crowd
  Time period_began_{};
  bool crowded_{};  // in the last period
  bool crowded_in_period_{};
};

}  // namespace nerve::host
