// What threads of this process do, as the kernel sees it.
#pragma once

#include <sys/types.h>

#include "base/time.h"

namespace nerve::host {

[[nodiscard]] pid_t this_thread();

// How often the calling thread has left its CPU.
struct Switches {
  long asleep{};    // to wait for something
  long runnable{};  // because it was preempted, or by sched_yield()
};
[[nodiscard]] Switches switches_of_this_thread();

// The CPU time of a thread since it started; zero if there is no such thread.
[[nodiscard]] Duration cpu_time_of(pid_t thread);
// True if the thread is on a CPU or waits for one, and not for anything else. Takes some
// microseconds.
[[nodiscard]] bool is_runnable(pid_t thread);

}  // namespace nerve::host
