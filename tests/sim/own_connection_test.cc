// Goal: messages that ask for a connection of their own wait for no other, start like the first
// message of a pair, and reuse the connections of finished ones. Method: a cluster with messages at
// chosen times; flow lists whose flows meet on one pair.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/run.h"
#include "sim/topology/topologies.h"
#include "tests/sim/cluster_rig.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::ClusterRig;

constexpr std::uint64_t kMegabyte = 1'000'000;

ClusterConfig hosts(std::uint32_t count) {
  ClusterConfig config;
  config.shape.servers = count;
  config.shape.gpus = 1;
  config.shape.nics = 1;
  return config;
}

SimulatedNetwork with_dcqcn() {
  SimulatedNetwork network;
  network.nics.engine.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
  return network;
}

void send_alone(ClusterRig& rig, std::uint32_t from, std::uint32_t to, std::uint64_t bytes,
                std::uint32_t name) {
  rig.cluster.send({PlaceId{from}, PlaceId{to}, bytes, false, {0, 0, name}, true});
}

double microseconds_of(Duration time) { return static_cast<double>(time.count()) / 1e6; }

// Ten hosts send 2 MB to the first. When all have arrived, and the rates are still low, the last
// one sends another megabyte.
Scenario incast_then_one(FlowQps qps, const std::string& file) {
  std::ofstream list{file};
  list << "11\n";
  for (int from = 1; from <= 10; ++from) list << from << " 0 3 100 2000000 0\n";
  list << "10 0 3 100 1000000 0.005\n";
  Scenario scenario;
  scenario.servers = {.count = 11, .gpus = 1, .nics = 1};
  scenario.back_end.topology = TopologyKind::kStar;
  scenario.back_end.nic_rate = Rate::gigabits(100);
  scenario.nics.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
  scenario.jobs.push_back(
      {.name = "list",
       .stragglers = {},
       .work = FlowsSpec{.pattern = FlowPattern::kList, .file = file, .qps = qps}});
  return scenario;
}

double slowdown_of_last(const Scenario& scenario) {
  const auto result = run(scenario);
  EXPECT_TRUE(result) << result.error();
  if (!result || result->jobs[0].flows.size() != 11) return 0;
  const FlowResult& flow = result->jobs[0].flows.back();
  return microseconds_of(flow.end - flow.start) / microseconds_of(flow.ideal);
}

}  // namespace

TEST(OwnConnection, ShortMessageDoesNotWaitForALongOne) {
  for (const bool alone : {false, true}) {
    ClusterRig rig{star(2, {}), {SimulatedNetwork{}}, hosts(2), 2};
    for (const std::uint32_t name : {0U, 1U}) {
      rig.cluster.send({PlaceId{0},
                        PlaceId{1},
                        name == 0 ? 10 * kMegabyte : 10'000,
                        false,
                        {0, 0, name},
                        alone});
    }
    rig.run();
    EXPECT_TRUE(rig.over);
    EXPECT_EQ(rig.cluster.connections(), alone ? 2U : 1U);
    if (alone) {
      EXPECT_LT(rig.microseconds(1), 6);
    } else {
      EXPECT_GT(rig.microseconds(1), 800);
    }
  }
}

TEST(OwnConnection, IsReusedInEitherDirectionWhenItsMessageIsAcknowledged) {
  ClusterRig rig{star(2, {}), {SimulatedNetwork{}}, hosts(2), 60};
  std::vector<Time> started;
  for (std::uint32_t i = 0; i < 60; ++i) {
    started.push_back(rig.cluster.now());
    send_alone(rig, i % 3 == 0 ? 1 : 0, i % 3 == 0 ? 0 : 1, kMegabyte, i);
    rig.world.run(Time{milliseconds{i + 1}});  // it takes 84 us
  }
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(rig.cluster.connections(), 1U);
  for (std::uint32_t i = 1; i < 60; ++i) {
    EXPECT_EQ(rig.job.delivered_at(i) - started[i], rig.job.delivered_at(0) - started[0]) << i;
  }
}

TEST(OwnConnection, LosesNothingWhenReusedOverALossyNetwork) {
  CheckedMemory memory;
  SimulatedNetwork network;
  network.fabric.buffer = {.bytes = 300'000, .lossless = 0};
  network.nics.payload = &memory;
  ClusterRig rig{star(6, {}), {network}, hosts(6), 200};
  for (std::uint32_t i = 0; i < 200; ++i) {
    send_alone(rig, i % 5, 5, 100'000 + i * 1000, i);
    if (i % 10 == 9) rig.world.run(Time{milliseconds{i / 10 + 1}});
  }
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(memory.wrong(), 0U);
  EXPECT_LT(rig.cluster.connections(), 100U);
}

TEST(OwnConnection, StartsAtLineRateAgain) {
  ClusterRig rig{star(4, {}), {with_dcqcn()}, hosts(4), 4};
  for (std::uint32_t i = 0; i < 3; ++i) send_alone(rig, i, 3, 4 * kMegabyte, i);
  const Time during{milliseconds{3}};
  const auto rate = [&] {
    return rig.world.nic(NodeId{0}).engine().glance_at_qps(1, during)[0].rate;
  };
  const auto line = rate();
  ASSERT_TRUE(line);
  rig.world.run(during);
  ASSERT_EQ(rig.job.deliveries(), 3U);
  EXPECT_LT(rate(), line);
  send_alone(rig, 0, 3, kMegabyte, 3);
  EXPECT_EQ(rate(), line);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(rig.cluster.connections(), 3U);
}

TEST(OwnConnection, OverTcpStartsWithTheFirstWindow) {
  SimulatedNetwork network;
  network.fabric.buffer.lossless = 0;
  network.tcp = TcpSpec{};
  network.tcp->first_window = 1;
  ClusterRig rig{star(2, {}), {network}, hosts(2), 2};
  send_alone(rig, 0, 1, 8 * kMegabyte, 0);
  const auto window = [&] {
    return rig.world.find_tcp_nic(NodeId{0})->sender(QpNumber{0}).window().bytes();
  };
  const std::uint64_t first = window();
  rig.world.run(Time{milliseconds{20}});
  ASSERT_EQ(rig.job.deliveries(), 1U);
  EXPECT_GT(window(), 2 * first);
  send_alone(rig, 0, 1, 8 * kMegabyte, 1);
  EXPECT_EQ(window(), first);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(rig.cluster.connections(), 1U);
}

TEST(OwnConnection, AFlowOfAListDoesNotInheritTheRateOfAnother) {
  const std::string file = testing::TempDir() + "incast-then-one.txt";
  EXPECT_LT(slowdown_of_last(incast_then_one(FlowQps::kPerFlow, file)), 1.05);
  EXPECT_GT(slowdown_of_last(incast_then_one(FlowQps::kPerPair, file)), 1.5);
}

}  // namespace nerve::sim
