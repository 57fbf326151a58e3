// The result of a job.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

// How one rank spent its time, in picoseconds.
struct RankTime {
  std::uint64_t compute{};
  std::uint64_t exposed{};  // waiting for messages, with nothing to compute
};

struct FlowResult {
  std::uint32_t from{};  // ranks
  std::uint32_t to{};
  std::uint64_t bytes{};
  Time start{};
  Time end{};
  Duration ideal{};  // in an empty network, with headers
};

struct JobResult {
  std::string name;
  std::string work;  // shown to users: ring all-reduce of 64 MB, 128 ranks
  bool done{};
  std::string trouble;  // why it is not done
  Time start{};
  Time end{};
  std::vector<Duration> steps;  // iterations or training steps, each until the slowest rank is done
  Duration bound{};             // of one step with no contention; zero: unknown
  std::string bound_is;         // how it was computed
  // The bound without slow GPUs and without interconnects; zero: unknown. Not in files, which have
  // it in RunResult::why.
  Duration floor{};
  std::uint64_t bytes_moved{};    // payload, over networks and interconnects
  double bus_bandwidth{};         // bytes/s per rank, as in nccl-tests; zero: not applicable
  std::vector<RankTime> ranks;    // for training
  std::vector<FlowResult> flows;  // for flows
  std::uint64_t flow_count{};     // total before thinning; set by the recorder
};

}  // namespace nerve::sim
