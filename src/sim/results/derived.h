// Figures derived from a result. They are computed only here, so that the terminal, the file and
// the report agree. A share is a fraction of one. Figures that do not apply are zero, never NaN.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/results/statistics.h"

namespace nerve::sim {

// The flow's time divided by its time in an empty network. Zero if it did not end or `ideal` is
// unknown.
[[nodiscard]] double slowdown_of(const FlowResult& flow);

struct SizeClassFigures {
  std::string name;       // under 10 KB
  std::uint64_t below{};  // bytes; zero: no limit
  std::uint64_t flows{};
  Percentiles completion_ps{};
  Percentiles slowdown{};
};

struct FlowFigures {
  std::uint64_t ended{};
  std::uint64_t unfinished{};
  Percentiles completion_ps{};
  Percentiles slowdown{};
  double jain_completion{};
  double jain_throughput{};
  std::vector<SizeClassFigures> size_classes;  // only classes with flows
};

struct JobFigures {
  std::string name;
  Duration completion{};  // start to end
  Duration step_mean{};
  Duration step_least{};
  Duration step_most{};
  double above_bound{};          // step_mean / bound - 1
  double compute_share{};        // of the ranks' time; the rest is idle_share
  double idle_share{};           // exposed / (compute + exposed), over all ranks
  double idle_share_worst{};     // of the worst rank
  double bus_bandwidth_bound{};  // bytes/s if a step took its bound
  FlowFigures flows{};
};

// Links from one tier to another.
struct LinkGroupFigures {
  std::string name;  // nic>leaf
  std::uint32_t links{};
  double utilisation_mean{};
  double utilisation_largest{};
  double utilisation_jain{};  // how evenly the links are used
  std::uint64_t most_queued{};
  std::uint64_t marked{};
  std::uint64_t dropped{};
  std::uint64_t pauses{};
  Duration paused{};
};

// The equipment of a network, for cost comparisons. NICs and their ports are the same in all of
// them.
struct Equipment {
  std::uint64_t switches{};
  std::uint64_t switch_ports{};  // with a cable
  std::uint64_t cables{};
};

struct Derived {
  std::vector<JobFigures> jobs;
  Equipment equipment{};
  std::vector<LinkGroupFigures> link_groups;
  std::vector<std::uint32_t> busiest_links;   // indexes of links, at most ten
  std::vector<std::uint32_t> deepest_queues;  // links from switches, at most ten
  double retransmitted_share{};               // of data packets
  double marked_share{};
  double events_per_second{};  // of wall time
};

[[nodiscard]] Derived derive(const RunResult& result);

}  // namespace nerve::sim
