// Goal: the result of a run does not depend on the number of threads. Method: random scenarios with
// every kind of link, routing, congestion control, job and fault; the hashes of their results.
#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/division.h"
#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/topology/topologies.h"

namespace nerve::sim {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kScenarios = 8;
#else
constexpr std::uint64_t kScenarios = 40;
#endif

template <std::size_t N>
std::string one_of(Prng& prng, const char* const (&words)[N]) {
  return words[prng.below(N)];
}

std::string line(const std::string& key, const std::string& word) {
  return key + " = \"" + word + "\"\n";
}

std::string job(Prng& prng) {
  static constexpr const char* kKinds[] = {"permutation", "incast",     "all-to-all",
                                           "all-reduce",  "all-gather", "random"};
  const std::string kind = one_of(prng, kKinds);
  std::string text = "[[job]]\n" + line("kind", kind);
  text += line("size", std::to_string(prng.between(1, 400)) + " KB");
  if (kind == "random") text += "load = 0.5\nrequests = 100\n";
  if (kind == "random" && prng.chance(500)) text += line("qps", "per-flow");
  if (prng.chance(300)) text += line("start", std::to_string(prng.below(50'000)) + " ns");
  return text;
}

std::string fault(Prng& prng) {
  const std::string at = std::to_string(prng.below(60'000)) + " ns";
  std::string text = "[[fault]]\n" + line("at", at) + line("from", "leaf0") + line("to", "spine1");
  switch (prng.below(3)) {
    case 0:
      return text + line("kind", "down") + line("reroute", "5 us");
    case 1:
      return text + line("kind", "slow") + line("rate", "25 Gb/s");
    default:
      return text + line("kind", "errors") + "bit_error_rate = 1e-7\n";
  }
}

std::string random_scenario(std::uint64_t seed) {
  static constexpr const char* kTopologies[] = {"leaf-spine", "leaf-spine", "fat-tree",
                                                "rail-optimised", "dragonfly"};
  static constexpr const char* kRoutings[] = {"ecmp", "spray", "adaptive", "flowlet"};
  static constexpr const char* kControls[] = {"none", "dcqcn", "timely", "swift", "hpcc"};
  Prng prng{seed};
  const std::string topology = one_of(prng, kTopologies);
  const bool rails = topology == "rail-optimised";
  std::string text = "seed = " + std::to_string(seed) + "\n[servers]\n";
  text += "count = " + std::to_string(rails ? prng.between(4, 8) : 16) + "\n";
  text += rails ? "gpus = 4\n" : "gpus = 1\n";
  if (prng.chance(200)) text += line("post_delay", std::to_string(prng.between(1, 900)) + " ns");
  text += "[fabric]\n" + line("topology", topology) + line("nic_rate", "100 Gb/s");
  if (topology == "leaf-spine") text += "nics_per_leaf = 4\nspines = 2\n";
  const bool infiniband = prng.chance(300);
  if (infiniband) text += line("link", "infiniband");
  const bool valiant = topology == "dragonfly" && prng.chance(500);
  const bool controlled = !infiniband && !valiant && prng.chance(200);
  const std::string routing = controlled ? "controlled" : one_of(prng, kRoutings);
  text += line("routing", valiant ? "valiant" : routing);
  if (!infiniband && prng.chance(200)) text += line("pfc_watchdog", "10 us");
  text += "[nic]\n" + line("congestion", infiniband ? "none" : one_of(prng, kControls));
  if (prng.chance(300)) text += line("recovery", "selective-repeat");
  if (prng.chance(200)) text += "[nic.hardware]\nmodelled = true\ncached_qps = 8\n";
  for (std::uint64_t jobs = prng.between(1, 3); jobs > 0; --jobs) text += job(prng);
  if (topology == "leaf-spine" && prng.chance(500)) text += fault(prng);
  return text;
}

}  // namespace

// A regression: the pause that a repaired cable begins with left its part late if nothing else
// happened, because no window ended before.
TEST(Cores, AFaultInAQuietFabricReachesOtherPartsInTime) {
  const auto scenario = read_scenario(R"([servers]
count = 8
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 1
[fabric.buffer]
size = "1 MB"
[[job]]
kind = "shift"
shift = 4
size = "4 MB"
[[fault]]
at = "20 us"
kind = "storm"
from = "nic0"
lasts = "2 ms"
[[fault]]
at = "500 us"
kind = "down"
from = "leaf0"
to = "spine0"
reroute = "10 ms"
[[fault]]
at = "600 us"
kind = "up"
from = "leaf0"
to = "spine0"
)",
                                      "quiet.toml", {});
  ASSERT_TRUE(scenario) << text_of(scenario.error()[0]);
  const auto alone = run(*scenario);
  ASSERT_TRUE(alone) << alone.error();
  for (const std::uint32_t cores : {2U, 3U}) {
    RunOptions options;
    options.cores = cores;
    const auto result = run(*scenario, options);
    ASSERT_TRUE(result) << result.error();
    EXPECT_EQ(hash_of(*result), hash_of(*alone)) << cores << " cores";
  }
}

TEST(Cores, TheirNumberDoesNotChangeTheResult) {
  std::uint32_t finished = 0;
  for (std::uint64_t seed = 1; seed <= kScenarios; ++seed) {
    const std::string text = random_scenario(seed);
    const auto scenario = read_scenario(text, "random.toml", {});
    ASSERT_TRUE(scenario) << text_of(scenario.error()[0]) << "\n" << text;
    const auto alone = run(*scenario);
    ASSERT_TRUE(alone) << alone.error() << "\n" << text;
    finished += alone->jobs[0].done ? 1 : 0;
    for (const std::uint32_t cores : {2U, 3U, 7U}) {
      RunOptions options;
      options.cores = cores;
      const auto result = run(*scenario, options);
      ASSERT_TRUE(result) << result.error();
      ASSERT_EQ(hash_of(*result), hash_of(*alone)) << cores << " cores\n" << text;
      for (std::size_t i = 0; i < alone->why.size(); ++i) {
        ASSERT_EQ(result->why[i].paragraph, alone->why[i].paragraph) << cores << " cores\n" << text;
      }
    }
  }
  EXPECT_GE(finished, kScenarios * 3 / 4);
}

TEST(Division, KeepsNicsAtTheirSwitchAndIsEven) {
  const Graph graph = leaf_spine({.leaves = 8, .spines = 4, .nics_per_leaf = 4}, {});
  const std::vector<std::uint16_t> parts = divide(graph, 4);
  std::vector<std::uint32_t> nics(4);
  std::vector<std::uint32_t> switches(4);
  for (std::uint32_t i = 0; i < parts.size(); ++i) {
    ++(graph.nodes[i].kind == NodeKind::kNic ? nics : switches).at(parts[i]);
  }
  EXPECT_EQ(nics, std::vector<std::uint32_t>(4, 8));
  EXPECT_EQ(switches, std::vector<std::uint32_t>(4, 3));
  for (const Cable& cable : graph.cables) {
    const bool to_nic = graph.nodes[cable.a.value()].kind == NodeKind::kNic ||
                        graph.nodes[cable.b.value()].kind == NodeKind::kNic;
    if (!to_nic) continue;
    EXPECT_EQ(parts[cable.a.value()], parts[cable.b.value()]);
  }
}

TEST(Division, OnePodOfAFatTreeIsInOnePart) {
  const Graph graph = fat_tree(8, {});
  const std::vector<std::uint16_t> parts = divide(graph, 8);
  std::uint32_t cut = 0;
  for (const Cable& cable : graph.cables) {
    if (parts[cable.a.value()] != parts[cable.b.value()]) ++cut;
  }
  EXPECT_LE(cut, 8U * 16);  // cables between pods and core switches
}

TEST(Division, TheShortestCutIsACableBetweenSwitches) {
  Links links;
  links.delay = std::chrono::nanoseconds{50};
  links.trunk_delay = std::chrono::nanoseconds{300};
  EXPECT_EQ(shortest_cut(leaf_spine({.leaves = 2, .spines = 2, .nics_per_leaf = 2}, links)),
            std::chrono::nanoseconds{300});
  EXPECT_EQ(shortest_cut(star(4, links)), Duration{INT64_MAX});
}

}  // namespace nerve::sim
