// Goal: a scenario has one result, on every machine and in every build. Method: runs of small
// scenarios with pinned hashes.
//
// A change of the fabric's behaviour changes these hashes; the commit must say so. A hash that
// fails in one build only is a bug of that build: contracted floating point, an order that depends
// on addresses, or an uninitialised value.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::sim {
namespace {

struct Pinned {
  const char* name;
  const char* scenario;
  const char* congestion;  // control; algorithms with fractions are the most likely to differ
  std::uint64_t hash;
  // What must have happened in the run for its hash to be meaningful.
  bool (*worth)(const RunResult&);
};

std::ostream& operator<<(std::ostream& out, const Pinned& pinned) { return out << pinned.name; }

bool has_marks(const RunResult& result) {
  return result.totals.marked > 0 && result.totals.congestion_notices > 0;
}
bool has_repairs(const RunResult& result) {
  return result.totals.dropped > 0 && result.totals.lost > 0 && result.totals.retransmitted > 0;
}
bool has_tcp(const RunResult& result) {
  return result.totals.cpu > Duration{} && result.totals.marked > 0;
}
bool has_queues(const RunResult& result) {
  return std::ranges::any_of(result.links,
                             [](const LinkResult& link) { return link.most_queued > 100'000; });
}
bool has_trips(const RunResult& result) {
  return result.totals.watchdog_trips > 0 && result.totals.retransmitted > 0 && has_marks(result);
}
bool has_steps(const RunResult& result) { return result.jobs[0].steps.size() == 2; }
bool has_idle_ranks(const RunResult& result) {
  return std::ranges::all_of(result.jobs[0].ranks,
                             [](const RankTime& rank) { return rank.exposed > rank.compute; });
}

constexpr const char* kFatTree = R"(
[servers]
count = 16
gpus = 1
[fabric]
topology = "fat-tree"
nic_rate = "100 Gb/s"
[fabric.ecn]
low = "20 KB"
high = "200 KB"
[[job]]
kind = "permutation"
size = "1 MB"
[[job]]
kind = "random"
size = "40 KB"
load = 0.3
requests = 200
)";

constexpr const char* kSprayed = R"(
[servers]
count = 12
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 4
routing = "spray"
pfc = false
[fabric.buffer]
size = "300 KB"
[nic]
recovery = "selective-repeat"
[[job]]
kind = "incast"
ranks = 6
placement = "striped"
size = "400 KB"
[[job]]
kind = "permutation"
size = "1 MB"
[[fault]]
at = "10 us"
kind = "errors"
from = "leaf1"
to = "spine2"
bit_error_rate = 1e-6
)";

constexpr const char* kTcp = R"(
[servers]
count = 8
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[fabric.ecn]
low = "60 KB"
high = "60 KB"
[nic]
transport = "tcp"
[[job]]
kind = "all-reduce"
size = "4 MB"
[[job]]
kind = "incast"
size = "500 KB"
)";

constexpr const char* kIncast = R"(
[servers]
count = 17
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[[job]]
kind = "incast"
size = "1 MB"
)";

// Three groups; one NIC stops its switch. The random flows meet on their pairs.
constexpr const char* kDragonfly = R"(
[servers]
count = 24
gpus = 1
[fabric]
topology = "dragonfly"
nic_rate = "100 Gb/s"
trunk_rate = "200 Gb/s"
routers_per_group = 4
nics_per_router = 2
cables_out_of_router = 2
routing = "valiant"
pfc_watchdog = "50 us"
[fabric.ecn]
low = "20 KB"
[[job]]
kind = "shift"
shift = 8
size = "1 MB"
[[job]]
kind = "random"
ranks = 4
placement = "striped"
size = "200 KB"
load = 0.5
requests = 200
qps = "per-flow"
[[fault]]
at = "20 us"
kind = "storm"
from = "nic9"
lasts = "300 us"
)";

constexpr const char* kTraining = R"(
[servers]
count = 4
gpus = 4
[fabric]
topology = "rail-optimised"
link = "infiniband"
[[job]]
kind = "training"
steps = 2
tflops = 333.3
[job.model]
parameters = 3e6
layers = 3
hidden = 256
sequence = 128
)";

constexpr const char* kSimai = R"(
[servers]
count = 4
gpus = 2
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
[fabric.ecn]
low = "20 KB"
[[job]]
kind = "simai"
file = ")" NERVE_SOURCE_DIR R"(/fuzz/corpus/simai/moe"
steps = 2
)";

// The four ranks of a stage are in four servers.
constexpr const char* kChakra = R"(
[servers]
count = 4
gpus = 2
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
[fabric.ecn]
low = "20 KB"
[[job]]
kind = "chakra"
file = ")" NERVE_SOURCE_DIR R"(/examples/traces/pipeline"
placement = "striped"
)";

constexpr Pinned kPinned[]{
    {"FatTree", kFatTree, "dcqcn", 0x1c89315ddabfc08c, has_marks},
    {"SelectiveRepeatSprayedWithLosses", kSprayed, "none", 0x30e766f907d0007a, has_repairs},
    {"Tcp", kTcp, "none", 0xf49e04d020d48e3b, has_tcp},
    {"Timely", kIncast, "timely", 0x0936fc419d178b13, has_queues},
    {"Swift", kIncast, "swift", 0x356874baeda29133, has_queues},
    {"Hpcc", kIncast, "hpcc", 0x438a22361e5a6bdd, has_queues},
    {"Learned", kIncast, "learned", 0x335ef70d9e24ba2e, has_queues},
    {"ValiantWithAWatchdog", kDragonfly, "dcqcn", 0xa871249d0e90607f, has_trips},
    {"TrainingOverInfiniBand", kTraining, "none", 0xa58c5d09cf0d09a1, has_steps},
    {"SimaiWorkload", kSimai, "dcqcn", 0x2908b8d2dab75990, has_steps},
    {"ChakraTraces", kChakra, "dcqcn", 0x7cfd14a88d1b0203, has_idle_ranks},
};

class PinnedHash : public testing::TestWithParam<Pinned> {};

TEST_P(PinnedHash, MatchesThePinnedValue) {
  const Override congestion{"nic.congestion", GetParam().congestion};
  const auto scenario = read_scenario(GetParam().scenario, "pinned.toml", {&congestion, 1});
  ASSERT_TRUE(scenario) << text_of(scenario.error()[0]);
  const auto result = run(*scenario);
  ASSERT_TRUE(result) << result.error();
  for (const JobResult& job : result->jobs) EXPECT_TRUE(job.done) << job.trouble;
  EXPECT_TRUE(GetParam().worth(*result));
  EXPECT_EQ(hash_of(*result), GetParam().hash)
      << std::hex << "now 0x" << hash_of(*result) << "; events " << std::dec << result->events
      << ", " << result->simulated.count() << " ps simulated";
}

INSTANTIATE_TEST_SUITE_P(Scenarios, PinnedHash, testing::ValuesIn(kPinned),
                         [](const auto& which) { return which.param.name; });

}  // namespace
}  // namespace nerve::sim
