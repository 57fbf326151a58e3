// `nerve run` as the parent of the program that it starts: where something is left to do when the
// program has ended, or while it runs.
//
// Programs print their summary themselves when they exit. One that was killed, or that ended by
// _exit(), cannot; but its counters are in memory that this process shares, and it prints them.
#pragma once

#include <sys/types.h>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "host/diagnostics/records.h"

namespace nerve::cli {

struct ParentDuties {
  bool summary{};
  // Called with what all programs have counted; empty: nothing.
  std::function<void(const host::Records&)> every_second;
  // Called when the program has been started; empty: nothing.
  std::function<void()> at_start;
  // Called when the program has ended, however that was; empty: nothing.
  std::function<void()> at_end;
};

// Starts what `become` turns into in a child, forwards signals that other processes send, and waits
// for it. Returns its exit code; ends by the same signal when it was ended by one.
[[nodiscard]] int run_as_parent(const std::function<int()>& become, const ParentDuties& duties);

// The lines for processes of this run that have ended without printing theirs; those in `printed`
// are left out, and added to it. `signal` is what ended `child`, or zero; none while that is not
// known.
[[nodiscard]] std::vector<std::string> missing_summaries(const host::Records& records, pid_t run,
                                                         pid_t child, std::optional<int> signal,
                                                         std::vector<pid_t>& printed);

}  // namespace nerve::cli
