// A plan file: a scenario in which the servers and the network are open, what may be chosen, and
// the limits. Plain values; plan_file.h reads them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rate.h"
#include "base/time.h"
#include "sim/scenario/document.h"
#include "sim/scenario/network_spec.h"

namespace nerve::sim::plan {

// What carries the traffic. Each stands for a few keys of a scenario (candidate_scenario.cc).
enum class NetworkKind : std::uint8_t {
  kInfiniBand,  // credits, adaptive routing
  kRoce,        // Ethernet with PFC and DCQCN
  kLossyRoce,   // Ethernet without PFC: DCQCN and selective repeat
  kTcp,         // Ethernet and the kernel's TCP
};

enum class Cabling : std::uint8_t {
  kByLength,  // the cheapest that is long enough
  kOptics,    // fibre, whatever the length
};

enum class Goal : std::uint8_t {
  kCostPerRun,  // cost of the cluster over its life, for each run or token
  kTime,        // the shortest time within the limits
  kCost,        // the cheapest cluster within the limits
};

struct VarySpec {
  std::vector<std::uint32_t> gpus_per_server{8};
  std::vector<std::uint32_t> nics_per_server;  // empty: as many as GPUs
  std::vector<Rate> nic_rate{Rate::gigabits(400)};
  std::vector<TopologyKind> topology;  // empty: all that may be planned
  std::vector<double> oversubscription{1, 2, 4};
  std::vector<NetworkKind> network{NetworkKind::kInfiniBand, NetworkKind::kRoce,
                                   NetworkKind::kLossyRoce, NetworkKind::kTcp};
  std::vector<std::uint32_t> switch_ports;  // at the rate of the NICs; empty: all in the prices
  std::vector<Cabling> cables{Cabling::kByLength};
};

// Zero: no limit.
struct LimitSpec {
  double watts{};  // of the whole cluster, with cooling
  double capital{};
  std::uint64_t ports{};  // of switches, with a cable
  Duration time{};        // of a run
  double days{};          // for all tokens
};

struct PlanSpec {
  std::string name;
  std::string description;
  std::string file;  // errors begin with it
  std::uint32_t gpus{};
  double budget{};  // capital, in dollars; instead of gpus
  double years{4};
  Goal goal{Goal::kCostPerRun};
  double tokens{};          // to train or serve; zero: unknown
  double tokens_per_run{};  // zero: those of its training jobs
  bool choose_parallelism{};
  std::uint64_t batch{};    // sequences per step, for that choice
  double gpu_memory{80e9};  // bytes, for the choice
  std::uint32_t seeds{3};
  std::uint32_t finalists{8};
  double packets{1e6};  // the most data packets of a run; larger ones are scaled down
  double worth{0.01};   // a candidate that costs more must promise to be this much faster
  std::string prices;   // a file; empty: the defaults
  VarySpec vary{};
  LimitSpec limits{};
  scenario_file::Node scenario;  // the rest of the file: jobs, and what is the same for all
};

inline constexpr std::uint32_t kMostGpus = 131'072;
inline constexpr TopologyKind kPlanned[] = {
    TopologyKind::kStar,          TopologyKind::kLeafSpine, TopologyKind::kFatTree,
    TopologyKind::kRailOptimised, TopologyKind::kRailOnly,  TopologyKind::kDualPlane,
    TopologyKind::kDragonfly,
};

[[nodiscard]] std::string_view name_of(NetworkKind kind);   // roce-lossy
[[nodiscard]] std::string_view name_of(TopologyKind kind);  // rail-only
[[nodiscard]] std::string_view name_of(Cabling cabling);
[[nodiscard]] std::string_view name_of(Goal goal);

}  // namespace nerve::sim::plan
