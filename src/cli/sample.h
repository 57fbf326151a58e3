// One look at all programs of this user that use nerve: what `nerve stat`, `nerve top` and
// `nerve metrics` show is made from this value alone.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "host/diagnostics/records.h"
#include "host/peers/inquiry.h"

namespace nerve::cli {

struct DeviceState {
  std::string name;
  bool up{};
};

struct Sample {
  std::chrono::duration<double> at{};          // since some moment in the past
  std::vector<host::ProcessReport> processes;  // that run, by pid
  host::Records records;                       // of all that count in shared memory, also dead ones
  std::vector<DeviceState> devices;            // of this machine
};

// Asks all processes at once, and waits for at most 500 ms. Those that do not answer have the
// counters that their shared memory shows.
[[nodiscard]] Sample take_sample(host::RecordReader& records);

// The counters of a process that did not answer, from its record.
void fill_from_record(host::ProcessReport& report, const host::Records& records);

}  // namespace nerve::cli
