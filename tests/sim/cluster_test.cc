// Goal: a message reaches its GPU once, over the right path, in the time of that path. Method:
// small clusters, times computed by hand.
#include "sim/host/cluster.h"

#include <gtest/gtest.h>

#include "base/prng.h"
#include "sim/topology/topologies.h"
#include "tests/sim/cluster_rig.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;
using test::ClusterRig;

constexpr std::uint64_t kMegabyte = 1'000'000;
constexpr double kOverhead = (4096.0 + 18 + 20 + 8 + 12 + 4 + 20) / 4096;  // per payload byte

ClusterConfig servers(std::uint32_t count, std::uint32_t gpus, std::uint32_t nics) {
  ClusterConfig config;
  config.shape.servers = count;
  config.shape.gpus = gpus;
  config.shape.nics = nics;
  config.interconnect = Rate::gigabits(800);
  config.interconnect_delay = nanoseconds{500};
  return config;
}

SimulatedNetwork lossless() {
  SimulatedNetwork network;
  network.nics.queue_depth = 16;
  return network;
}

// NIC k of each server is on switch k; switches are not connected.
Graph rails(std::uint32_t count, std::uint32_t nics) {
  Graph graph;
  for (std::uint32_t i = 0; i < count * nics; ++i) {
    graph.add(NodeKind::kNic, "nic" + std::to_string(i), 0);
  }
  for (std::uint32_t k = 0; k < nics; ++k) {
    const NodeId rail = graph.add(NodeKind::kSwitch, "rail" + std::to_string(k), 1);
    for (std::uint32_t s = 0; s < count; ++s) {
      graph.join(NodeId{s * nics + k}, rail, Rate::gigabits(100), microseconds{1});
    }
  }
  return graph;
}

// Adds a second, separate network.
Graph beside(Graph graph, const Graph& other) {
  const auto first = static_cast<std::uint32_t>(graph.nodes.size());
  for (GraphNode node : other.nodes) {
    node.network = 1;
    graph.nodes.push_back(node);
  }
  for (const Cable& cable : other.cables) {
    graph.join(NodeId{cable.a.value() + first}, NodeId{cable.b.value() + first}, cable.rate,
               cable.delay);
  }
  return graph;
}

double line_time(std::uint64_t bytes, double gigabits) {
  return static_cast<double>(bytes) * 8 / (gigabits * 1000);
}

}  // namespace

TEST(Interconnect, MessageTakesItsLineTimePlusTheDelay) {
  ClusterRig rig{star(2, {}), {lossless()}, servers(1, 2, 2), 1};
  rig.send(0, 1, 10 * kMegabyte);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_NEAR(rig.microseconds(0), line_time(10 * kMegabyte, 800) + 0.5, 0.01);
}

TEST(Interconnect, TwoSendersShareAReceiver) {
  ClusterRig rig{star(3, {}), {lossless()}, servers(1, 3, 3), 2};
  rig.send(0, 2, 10 * kMegabyte);
  rig.send(1, 2, 10 * kMegabyte);
  rig.run();
  const double both = line_time(20 * kMegabyte, 800);
  EXPECT_NEAR(std::max(rig.microseconds(0), rig.microseconds(1)), both + 0.5, 0.1);
  EXPECT_GT(std::min(rig.microseconds(0), rig.microseconds(1)), both * 0.9) << "slice by slice";
}

TEST(Interconnect, AllToAllKeepsEveryLinkBusy) {
  ClusterRig rig{star(8, {}), {lossless()}, servers(1, 8, 8), 56};
  for (std::uint32_t from = 0; from < 8; ++from) {
    for (std::uint32_t to = 0; to < 8; ++to) {
      if (from != to) rig.send(from, to, 4 * kMegabyte);
    }
  }
  rig.run();
  double last = 0;
  for (std::uint32_t i = 0; i < 56; ++i) last = std::max(last, rig.microseconds(i));
  EXPECT_LT(last, line_time(7 * 4 * kMegabyte, 800) * 1.15);
}

TEST(Cluster, MessageBetweenServersGoesAtLineRate) {
  ClusterRig rig{star(4, {}), {lossless()}, servers(2, 2, 2), 1};
  rig.send(0, 3, 10 * kMegabyte);
  rig.run();
  EXPECT_NEAR(rig.microseconds(0), line_time(10 * kMegabyte, 100) * kOverhead + 2.3, 1);
  EXPECT_EQ(rig.cluster.connections(), 1U);
}

TEST(Cluster, GpusShareNicsEvenly) {
  ClusterShape shape;
  shape.servers = 2;
  shape.gpus = 8;
  shape.nics = 4;
  EXPECT_EQ(shape.nic_of(PlaceId{5}, PlaceId{9}, 0, false), NodeId{2});
  EXPECT_EQ(shape.nic_of(PlaceId{9}, PlaceId{5}, 0, false), NodeId{4});
  shape.nics = 16;  // two per GPU
  EXPECT_EQ(shape.nic_of(PlaceId{5}, PlaceId{9}, 0, false), NodeId{10});
  EXPECT_EQ(shape.nic_of(PlaceId{5}, PlaceId{9}, 1, false), NodeId{11});
}

TEST(Cluster, LongMessageIsSplitAndDeliveredOnce) {
  for (const std::uint32_t lanes : {1U, 4U}) {
    ClusterConfig config = servers(2, 1, 1);
    config.back_end.lanes = lanes;
    ClusterRig rig{star(2, {}), {lossless()}, config, 2};
    rig.send(0, 1, 100 * kMegabyte);  // more than the send queue holds
    rig.send(1, 0, 3);
    rig.run();
    EXPECT_TRUE(rig.over);
    EXPECT_NEAR(rig.microseconds(0), line_time(100 * kMegabyte, 100) * kOverhead + 2.3, 10);
    EXPECT_LT(rig.microseconds(1), 3);
  }
}

TEST(Cluster, MessagesBeyondTheQueueDepthWait) {
  ClusterRig rig{star(2, {}), {lossless()}, servers(2, 1, 1), 300};
  for (std::uint32_t i = 0; i < 300; ++i) rig.send(0, 1, i % 7 == 0 ? 0 : i * 100);
  rig.run();
  EXPECT_TRUE(rig.over);
  for (std::uint32_t i = 1; i < 300; ++i) {
    EXPECT_LE(rig.job.delivered_at(i - 1), rig.job.delivered_at(i));
  }
}

TEST(Cluster, JobsDoNotShareConnections) {
  ClusterRig rig{star(2, {}), {lossless()}, servers(2, 1, 1), 1};
  test::RecordingJob other{1};
  other.use(rig.cluster);
  EXPECT_EQ(rig.cluster.add(other, {}), 1U);
  rig.send(0, 1, 1000);
  rig.cluster.send({PlaceId{0}, PlaceId{1}, 1000, false, {1, 0, 0}});
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(rig.cluster.connections(), 2U);
}

TEST(Cluster, TimersFireOnTime) {
  ClusterRig rig{star(2, {}), {lossless()}, servers(2, 1, 1), 1};
  rig.cluster.after(microseconds{7}, {0, 0, 5});
  rig.cluster.after(microseconds{3}, {0, 0, 6});
  rig.send(0, 1, kMegabyte);
  rig.run();
  EXPECT_EQ(rig.job.timer_at(5), Time{microseconds{7}});
  EXPECT_EQ(rig.job.timer_at(6), Time{microseconds{3}});
}

TEST(Cluster, MessageBetweenSeparateRailsIsRelayedByALocalGpu) {
  ClusterConfig config = servers(2, 4, 4);
  config.shape.relay_across_rails = true;
  ClusterRig rig{rails(2, 4), {lossless()}, config, 2};
  rig.send(0, 5, 10 * kMegabyte);  // GPU 0 to GPU 1 of the other server: across rails
  rig.send(2, 6, 10 * kMegabyte);  // along a rail
  rig.run();
  EXPECT_TRUE(rig.over);
  const double network = line_time(10 * kMegabyte, 100) * kOverhead + 2.3;
  EXPECT_NEAR(rig.microseconds(1), network, 1);
  // One slice crosses before the network starts; the rest overlaps with it.
  EXPECT_NEAR(rig.microseconds(0), network + line_time(Interconnect::kSlice, 800) + 0.5, 1);
  EXPECT_EQ(rig.cluster.interconnect_bytes(), 10 * kMegabyte);
}

TEST(Cluster, UndeliverableMessageIsReportedToItsJob) {
  ClusterRig rig{rails(2, 2), {lossless()}, servers(2, 2, 2), 2};
  rig.send(0, 3, 10 * kMegabyte);  // no path
  rig.send(0, 2, 1000);
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_EQ(rig.job.failed_messages(), std::vector<std::uint32_t>{0});
  EXPECT_EQ(rig.job.deliveries(), 1U);
  EXPECT_EQ(rig.cluster.failed_messages(), 1U);
  EXPECT_EQ(rig.cluster.trouble(0),
            "a message of 10000000 bytes from gpu 0 to gpu 3 was lost: no answer to any of its "
            "packets");
}

TEST(Cluster, StorageIsAsFastAsItsDisks) {
  ClusterConfig config = servers(2, 2, 2);
  config.shape.storage = 1;
  config.disk = Rate::gigabits(40);
  ClusterRig rig{star(6, {}), {lossless()}, config, 4};
  for (std::uint32_t gpu = 0; gpu < 4; ++gpu) rig.send(gpu, 4, 5 * kMegabyte);
  rig.run();
  EXPECT_TRUE(rig.over);
  double last = 0;
  for (std::uint32_t i = 0; i < 4; ++i) last = std::max(last, rig.microseconds(i));
  EXPECT_NEAR(last, line_time(20 * kMegabyte, 40), 5);
}

TEST(Cluster, FrontEndHasOneNicPerServer) {
  ClusterConfig config = servers(2, 2, 2);
  config.shape.front_end = 5;
  config.shape.storage = 1;
  config.shape.storage_on_front_end = true;
  Links slow;
  slow.rate = slow.trunk = Rate::gigabits(25);
  SimulatedNetwork front;
  front.fabric.buffer.lossless = 0;
  front.tcp = TcpSpec{};
  ClusterRig rig{beside(star(4, {}), star(3, slow)), {lossless(), front}, config, 3};
  rig.send(0, 2, 5 * kMegabyte);
  rig.send(0, 2, 5 * kMegabyte, true);
  rig.send(3, 4, 5 * kMegabyte);  // storage, which is only on the front end
  rig.run();
  EXPECT_TRUE(rig.over);
  EXPECT_LT(rig.microseconds(0), line_time(5 * kMegabyte, 100) * kOverhead + 5);
  for (const std::uint32_t message : {1U, 2U}) {
    EXPECT_GT(rig.microseconds(message), line_time(5 * kMegabyte, 25));
    EXPECT_LT(rig.microseconds(message), line_time(5 * kMegabyte, 25) * 1.2);
  }
  EXPECT_GT(rig.world.find_tcp_nic(NodeId{5})->counters().data_packets, 500U);
}

TEST(Cluster, CheckedPayloadArrivesAtItsAddress) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Prng prng{seed};
    CheckedMemory memory;
    SimulatedNetwork network = lossless();
    network.fabric.buffer = {.bytes = 300'000, .lossless = 0};  // drops many packets
    network.nics.payload = &memory;
    ClusterConfig config = servers(6, 1, 1);
    config.back_end.lanes = 2;
    ClusterRig rig{star(6, {}), {network}, config, 20};
    std::uint64_t bytes = 0;
    for (std::uint32_t i = 0; i < 20; ++i) {
      const auto from = static_cast<std::uint32_t>(prng.below(5));
      const std::uint64_t length = prng.below(2 * kMegabyte);
      rig.send(from, 5, length);
      bytes += length;
    }
    rig.run();
    EXPECT_TRUE(rig.over) << "seed " << seed;
    EXPECT_EQ(memory.wrong(), 0U) << "seed " << seed;
    EXPECT_GE(memory.checked(), bytes) << "seed " << seed;
  }
}

}  // namespace nerve::sim
