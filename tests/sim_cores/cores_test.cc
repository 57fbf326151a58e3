// Goal: the result of a run does not depend on the number of threads. Method: random scenarios with
// every kind of link, routing, congestion control, job and fault; the hashes of their results.
#include <gtest/gtest.h>

#include "random_scenario.h"
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
