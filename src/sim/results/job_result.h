// How a job went.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/time.h"

namespace nerve::sim {

// Where the time of one rank went, in picoseconds.
struct RankTime {
  std::uint64_t compute{};
  std::uint64_t exposed{};  // waiting for messages with nothing to compute
};

struct FlowResult {
  std::uint32_t from{};  // ranks
  std::uint32_t to{};
  std::uint64_t bytes{};
  Time start{};
  Time end{};
  Duration ideal{};  // alone in the network: headers included
};

struct JobResult {
  std::string name;
  std::string work;  // for people: ring all-reduce of 64 MB, 128 ranks
  bool done{};
  std::string trouble;  // when it is not
  Time start{};
  Time end{};
  std::vector<Duration> steps;  // iterations or training steps, each of the slowest rank
  Duration bound{};             // of one step, were every cable its own: zero when none is known
  std::string bound_is;         // how it was worked out
  std::uint64_t bytes_moved{};  // payload, over networks and interconnects
  double bus_bandwidth{};       // bytes/s of each rank, as NCCL counts; zero when it means nothing
  std::vector<RankTime> ranks;  // of training
  std::vector<FlowResult> flows;  // of flows
  std::uint64_t flow_count{};     // of all flows, when `flows` was thinned; the recorder's to fill
};

}  // namespace nerve::sim
