// Goal: each path choice spreads traffic as intended and keeps flows in order where it must.
// Method: counts over many flows and packets, in isolation and in a fabric.
#include "sim/fabric/path_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using test::Traffic;

constexpr std::uint32_t kWays = 8;
constexpr std::uint32_t kFlows = 80'000;

Time at(std::int64_t us) { return Time{microseconds{us}}; }

// The bytes that the first of two leaves sends to each of eight spines, when `senders` of its eight
// NICs send to those of the other leaf, each with `qps` QPs.
std::vector<std::uint64_t> bytes_up(PathChoice choice, std::uint32_t senders, std::uint32_t qps,
                                    bool hash_by_qp) {
  FabricConfig config;
  config.path_choice = choice;
  SimNicConfig nics;
  nics.hash_by_qp = hash_by_qp;
  Traffic traffic{leaf_spine({.leaves = 2, .spines = 8, .nics_per_leaf = 8}, {}), config, nics};
  for (std::uint32_t i = 0; i < senders; ++i) {
    for (std::uint32_t k = 0; k < qps; ++k) traffic.add(NodeId{i}, NodeId{i + 8}, 2'000'000 / qps);
  }
  traffic.run();
  std::vector<std::uint64_t> sent;
  const NodeId leaf{16};
  for (const PortId port : traffic.world().fabric().ports_of(leaf)) {
    const Port& here = traffic.world().fabric().port(port);
    if (here.to_switch) sent.push_back(here.sent_bytes);
  }
  return sent;
}

double most_to_mean(const std::vector<std::uint64_t>& bytes) {
  double sum = 0;
  for (const std::uint64_t one : bytes) sum += static_cast<double>(one);
  return static_cast<double>(*std::ranges::max_element(bytes)) * 8 / sum;
}

}  // namespace

TEST(PathChoice, HashSpreadsFlowsEvenlyAndDiffersBetweenSwitches) {
  std::array<std::uint32_t, kWays> counts{};
  std::uint32_t same = 0;
  for (std::uint32_t flow = 0; flow < kFlows; ++flow) {
    const std::uint32_t here = mix(flow, 0x1234) % kWays;
    ++counts[here];
    same += mix(flow, 0x9876'5432) % kWays == here ? 1U : 0U;
  }
  // The standard deviation is 100; five times that does not occur by chance.
  for (const std::uint32_t count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_NEAR(same, 10'000, 500) << "two switches choose alike";
}

TEST(PathChoice, FlowletKeepsItsPathUntilTheFlowIsIdle) {
  FlowletTable table{microseconds{50}, true};
  const std::array<PortId, 3> ways{PortId{3}, PortId{5}, PortId{7}};
  EXPECT_EQ(table.choose(1, ways, PortId{3}, at(0)), PortId{3});
  EXPECT_EQ(table.choose(1, ways, PortId{5}, at(50)), PortId{3});
  EXPECT_EQ(table.choose(1, ways, PortId{5}, at(100)), PortId{3}) << "the gap is from the last";
  EXPECT_EQ(table.choose(1, ways, PortId{5}, at(151)), PortId{5});
}

TEST(PathChoice, FlowletLeavesAPathToAnotherDestination) {
  FlowletTable table{microseconds{50}, true};
  const std::array<PortId, 2> before{PortId{3}, PortId{5}};
  const std::array<PortId, 2> after{PortId{7}, PortId{5}};
  EXPECT_EQ(table.choose(1, before, PortId{3}, at(0)), PortId{3});
  EXPECT_EQ(table.choose(1, after, PortId{7}, at(1)), PortId{7});
}

TEST(PathChoice, ShortestQueueIsTakenUnlessThePortIsDown) {
  std::vector<Port> ports(kWays);
  std::vector<PortId> ways;
  for (std::uint32_t i = 0; i < kWays; ++i) ways.emplace_back(i);
  Prng prng{5};
  std::array<std::uint32_t, kWays> counts{};
  for (std::uint32_t i = 0; i < kFlows; ++i) ++counts[emptiest(ways, ports, prng).value()];
  for (const std::uint32_t count : counts) EXPECT_NEAR(count, 10'000, 500) << "of equals";
  for (Port& port : ports) port.queued = 2000;
  ports[2].queued = 1000;
  ports[4].queued = 0;
  ports[4].up = false;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(emptiest(ways, ports, prng), PortId{2});
}

// Polarisation: an aggregation switch only gets flows of one hash value, and chooses the core by
// the same value.
TEST(PathChoice, EqualHashesLeaveCoreSwitchesUnused) {
  const auto cores_used = [](bool alike) {
    FabricConfig config;
    config.hash_alike = alike;
    SimNicConfig nics;
    nics.hash_by_qp = true;
    Traffic traffic{fat_tree(8, {}), config, nics};
    constexpr std::uint32_t kHalf = 64;
    for (std::uint32_t i = 0; i < kHalf; ++i) {
      for (int qp = 0; qp < 4; ++qp) traffic.add(NodeId{i}, NodeId{i + kHalf}, 4096);
    }
    traffic.run();
    const Fabric& fabric = traffic.world().fabric();
    std::set<std::uint32_t> used;
    for (const Port& port : fabric.ports()) {
      const GraphNode& node = fabric.graph().nodes[port.node.value()];
      if (node.name.starts_with("core") && port.sent_bytes > 0) used.insert(port.node.value());
    }
    return used.size();
  };
  EXPECT_EQ(cores_used(false), 16U);
  EXPECT_EQ(cores_used(true), 4U);
}

TEST(PathChoice, SprayAndAdaptiveUseAllSpinesAndHashesCollide) {
  EXPECT_GT(most_to_mean(bytes_up(PathChoice::kEcmp, 8, 1, false)), 1.5);
  EXPECT_LT(most_to_mean(bytes_up(PathChoice::kEcmp, 8, 32, true)), 1.5);
  EXPECT_LT(most_to_mean(bytes_up(PathChoice::kSpray, 8, 1, false)), 1.1);
  EXPECT_LT(most_to_mean(bytes_up(PathChoice::kAdaptive, 8, 1, false)), 1.1);
}

TEST(PathChoice, QpsOfTwoNicsShareAPathUnlessHashedByQp) {
  const auto used = [](const std::vector<std::uint64_t>& bytes) {
    return std::ranges::count_if(bytes, [](std::uint64_t one) { return one > 0; });
  };
  EXPECT_EQ(used(bytes_up(PathChoice::kEcmp, 1, 32, false)), 1);
  EXPECT_GE(used(bytes_up(PathChoice::kEcmp, 1, 32, true)), 7);
}

}  // namespace nerve::sim
