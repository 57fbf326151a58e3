// A short time slice for a thread that works little and is waited for.
#pragma once

namespace nerve::host {

// Asks the scheduler for a short time slice. From Linux 6.12 on, a thread with a shorter slice
// that wakes up preempts one that has just begun a longer one, instead of waiting for its end,
// which may be milliseconds away. Needs no privileges; without effect on older kernels.
void ask_for_short_slice();

}  // namespace nerve::host
