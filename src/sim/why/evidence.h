// What a run knows about itself when it is over, for the diagnosis.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "sim/host/path_times.h"
#include "sim/results/congestion.h"
#include "sim/results/run_result.h"
#include "sim/scenario/scenario.h"

namespace nerve::sim {

struct JobEvidence {
  PathTimes path{};
  Duration half_trip{};             // of the longest path, for a full packet
  Rate nic_rate{};                  // of the slowest NIC
  double on_cable{1};               // bytes on the cable for each byte of payload
  std::vector<std::uint32_t> nics;  // nodes, sorted
};

struct Evidence {
  const Scenario& scenario;
  const RunResult& result;  // complete, except for `why`
  const Congestion& congestion;
  std::vector<JobEvidence> jobs;
};

}  // namespace nerve::sim
