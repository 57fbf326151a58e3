#include "sim/plan/plan_keys.h"

namespace nerve::sim::plan {
namespace {

using namespace scenario_file;

constexpr Named<NetworkKind> kNetworkKinds[] = {
    {"infiniband", NetworkKind::kInfiniBand},
    {"roce", NetworkKind::kRoce},
    {"roce-lossy", NetworkKind::kLossyRoce},
    {"tcp", NetworkKind::kTcp},
};
constexpr Named<TopologyKind> kShapes[] = {
    {"single-switch", TopologyKind::kStar},  {"leaf-spine", TopologyKind::kLeafSpine},
    {"fat-tree", TopologyKind::kFatTree},    {"rail-optimised", TopologyKind::kRailOptimised},
    {"rail-only", TopologyKind::kRailOnly},  {"dual-plane", TopologyKind::kDualPlane},
    {"dragonfly", TopologyKind::kDragonfly},
};
constexpr Named<Cabling> kCablings[] = {{"by-length", Cabling::kByLength},
                                        {"optics", Cabling::kOptics}};
constexpr Named<Goal> kGoals[] = {
    {"cost-per-run", Goal::kCostPerRun}, {"time", Goal::kTime}, {"cost", Goal::kCost}};
// False: as in the file.
constexpr Named<bool> kParallelism[] = {{"given", false}, {"choose", true}};

template <class T, std::size_t N>
auto word_among(const Named<T> (&names)[N]) {
  return [&names](Value& v, T& where) { v.word(where, names); };
}

template <class T>
auto count_within(T least, T most) {
  return [least, most](Value& v, T& where) { v.count(where, least, most); };
}

// clang-format off
constexpr Key<PlanSpec> kTopOfPlan[] = {
    {"name", "shown in reports; names the results folder",
     [](Value& v, PlanSpec& p) { v.text(p.name); }, "name of the file"},
    {"description", "the question it answers",
     [](Value& v, PlanSpec& p) { v.text(p.description); }, "none"},
};

constexpr Key<PlanSpec> kPlan[] = {
    {"gpus", "number of GPUs",
     [](Value& v, PlanSpec& p) { v.count(p.gpus, 2, kMostGpus); }, "as many as `budget` buys"},
    {"budget", "capital in US dollars; instead of `gpus`: each candidate has as many servers as that buys",
     [](Value& v, PlanSpec& p) { v.number(p.budget, 1000, 1e12); }, "none"},
    {"goal", "what the advice minimises: cost of the cluster over `years` for each run (or token), the time, or the cost",
     [](Value& v, PlanSpec& p) { v.word(p.goal, kGoals); }},
    {"years", "life of the cluster, for electricity and cost per run",
     [](Value& v, PlanSpec& p) { v.number(p.years, 0.1, 30); }},
    {"tokens", "tokens to train or serve in all, as in 15e12",
     [](Value& v, PlanSpec& p) { v.number(p.tokens, 1, 1e18); }, "none"},
    {"tokens_per_run", "tokens that one run of the jobs stands for",
     [](Value& v, PlanSpec& p) { v.number(p.tokens_per_run, 1, 1e18); }, "those of its training jobs"},
    {"parallelism", "of training jobs: as in the file, or the fastest estimate that fits into memory",
     [](Value& v, PlanSpec& p) { v.word(p.choose_parallelism, kParallelism); }},
    {"batch", "sequences per training step, for that choice; gives the number of micro-batches",
     [](Value& v, PlanSpec& p) { v.count(p.batch, 1, 1'000'000'000); }, "none"},
    {"gpu_memory", "memory of a GPU in bytes, for that choice",
     [](Value& v, PlanSpec& p) { v.number(p.gpu_memory, 1e9, 1e13); }},
    {"finalists", "candidates that are simulated packet by packet",
     [](Value& v, PlanSpec& p) { v.count(p.finalists, 1, 64); }},
    {"seeds", "seeds of each finalist",
     [](Value& v, PlanSpec& p) { v.count(p.seeds, 1, 32); }},
    {"packets", "data packets that a run may have; larger finalists are scaled down",
     [](Value& v, PlanSpec& p) { v.number(p.packets, 1000, 1e12); }},
    {"worth", "a candidate that costs more is only estimated if it can be faster by this share",
     [](Value& v, PlanSpec& p) { v.number(p.worth, 0, 1); }},
    {"prices", "file with prices that override the defaults",
     [](Value& v, PlanSpec& p) { v.file(p.prices); }, "none"},
};

constexpr Key<VarySpec> kVary[] = {
    {"gpus_per_server", "GPUs per server",
     [](Value& v, VarySpec& s) { v.list(s.gpus_per_server, count_within<std::uint32_t>(1, 256)); }},
    {"nics_per_server", "NICs per server",
     [](Value& v, VarySpec& s) { v.list(s.nics_per_server, count_within<std::uint32_t>(1, 256)); },
     "as many as GPUs"},
    {"nic_rate", "rate of a NIC",
     [](Value& v, VarySpec& s) { v.list(s.nic_rate, [](Value& one, Rate& rate) { one.rate(rate); }); }},
    {"topology", "shape of the network",
     [](Value& v, VarySpec& s) { v.list(s.topology, word_among(kShapes)); }, "all"},
    {"oversubscription", "of leaf-spine, rail-optimised and dual-plane",
     [](Value& v, VarySpec& s) {
       v.list(s.oversubscription, [](Value& one, double& ratio) { one.number(ratio, 1, 64); }); },
     "1, 2, 4"},
    {"network", "InfiniBand; RoCE with PFC and DCQCN; RoCE without PFC, with selective repeat; TCP",
     [](Value& v, VarySpec& s) { v.list(s.network, word_among(kNetworkKinds)); }, "all"},
    {"switch_ports", "ports of a switch at the rate of the NICs",
     [](Value& v, VarySpec& s) { v.list(s.switch_ports, count_within<std::uint32_t>(2, 4096)); },
     "all in the prices"},
    {"cables", "the cheapest cables that are long enough, or optics everywhere",
     [](Value& v, VarySpec& s) { v.list(s.cables, word_among(kCablings)); }},
};

constexpr Key<LimitSpec> kLimits[] = {
    {"power", "of the cluster, with cooling",
     [](Value& v, LimitSpec& l) { v.power(l.watts, 100, 1e10); }, "none"},
    {"capital", "price of the cluster in US dollars",
     [](Value& v, LimitSpec& l) { v.number(l.capital, 1000, 1e12); }, "none"},
    {"ports", "ports of switches with a cable",
     [](Value& v, LimitSpec& l) { v.count(l.ports, 1, 10'000'000); }, "none"},
    {"time", "of one run of the jobs",
     [](Value& v, LimitSpec& l) { v.time(l.time, Duration{1000}, std::chrono::hours{24}); }, "none"},
    {"days", "for all `tokens`",
     [](Value& v, LimitSpec& l) { v.number(l.days, 0.001, 100'000); }, "none"},
};
// clang-format on

}  // namespace

KeysOf<PlanSpec> top_plan_keys() { return kTopOfPlan; }
KeysOf<PlanSpec> own_plan_keys() { return kPlan; }
KeysOf<VarySpec> vary_keys() { return kVary; }
KeysOf<LimitSpec> limit_keys() { return kLimits; }

std::string_view name_of(NetworkKind kind) { return scenario_file::name_of(kind, kNetworkKinds); }
std::string_view name_of(TopologyKind kind) { return scenario_file::name_of(kind, kShapes); }
std::string_view name_of(Cabling cabling) { return scenario_file::name_of(cabling, kCablings); }
std::string_view name_of(Goal goal) { return scenario_file::name_of(goal, kGoals); }

}  // namespace nerve::sim::plan
