// Figures that follow from a result: worked out here alone, so that the terminal, the file and the
// page never disagree. A share is of one; a NaN never appears: what means nothing is zero.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/results/run_result.h"
#include "sim/results/statistics.h"

namespace nerve::sim {

// How many times as long as alone in the network. Zero when it did not end, or `ideal` is unknown.
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
  std::vector<SizeClassFigures> size_classes;  // those with flows
};

struct JobFigures {
  std::string name;
  Duration completion{};  // start to end
  Duration step_mean{};
  Duration step_least{};
  Duration step_most{};
  double above_bound{};          // step_mean / bound - 1
  double compute_share{};        // of the ranks' time; the rest is idle_share
  double idle_share{};           // exposed / (compute + exposed), all ranks together
  double idle_share_worst{};     // of one rank
  double bus_bandwidth_bound{};  // bytes/s, had a step taken its bound
  FlowFigures flows{};
};

// Links from one tier to another.
struct LinkGroupFigures {
  std::string name;  // nic>leaf
  std::uint32_t links{};
  double utilisation_mean{};
  double utilisation_largest{};
  double utilisation_jain{};  // how evenly they are used: what ECMP makes of it
  std::uint64_t most_queued{};
  std::uint64_t marked{};
  std::uint64_t dropped{};
  std::uint64_t pauses{};
  Duration paused{};
};

// What a network is bought as, for those who compare costs. NICs and their ports are in every one.
struct Equipment {
  std::uint64_t switches{};
  std::uint64_t switch_ports{};  // that have a cable
  std::uint64_t cables{};
};

struct Derived {
  std::vector<JobFigures> jobs;
  Equipment equipment{};
  std::vector<LinkGroupFigures> link_groups;
  std::vector<std::uint32_t> busiest_links;   // numbers of links, at most ten
  std::vector<std::uint32_t> deepest_queues;  // of switches, at most ten
  double retransmitted_share{};               // of data packets
  double marked_share{};
  double events_per_second{};  // of wall time
};

[[nodiscard]] Derived derive(const RunResult& result);

}  // namespace nerve::sim
