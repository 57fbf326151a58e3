// Goal: a collective takes the time that its links need, in whatever order messages arrive. Method:
// jobs on a network with times computed by hand, with and without jitter.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "sim/workload/words.h"
#include "tests/sim/fake_cluster.h"
#include "tests/sim/plan_contents.h"
#include "tests/sim/times.h"

namespace nerve::sim::collective_job_test {
namespace {

using test::seconds;
using Kind = CollectiveKind;
using Algorithm = CollectiveAlgorithm;
using test::FakeCluster;
using test::FakeNetwork;

JobSpec job_of(const CollectiveSpec& work) {
  JobSpec spec;
  spec.name = "c";
  spec.work = work;
  return spec;
}

JobResult run(const FakeNetwork& network, const CollectiveSpec& work) {
  FakeCluster cluster{network};
  return run(cluster, job_of(work));
}

std::string refused(const FakeNetwork& network, const CollectiveSpec& work) {
  FakeCluster cluster{network};
  const auto job = make_job(job_of(work), cluster.context());
  return job ? "was made" : job.error();
}

struct Way {
  Kind kind;
  Algorithm algorithm;
  std::uint32_t chunks;
};
constexpr std::array kWays{
    Way{Kind::kAllReduce, Algorithm::kRing, 1},
    Way{Kind::kAllReduce, Algorithm::kTree, 8},
    Way{Kind::kAllReduce, Algorithm::kHalvingDoubling, 1},
    Way{Kind::kAllReduce, Algorithm::kHierarchical, 1},
    Way{Kind::kAllReduce, Algorithm::kHierarchical, 4},
    Way{Kind::kReduceScatter, Algorithm::kRing, 1},
    Way{Kind::kReduceScatter, Algorithm::kHalvingDoubling, 1},
    Way{Kind::kReduceScatter, Algorithm::kHierarchical, 1},
    Way{Kind::kAllGather, Algorithm::kRing, 1},
    Way{Kind::kAllGather, Algorithm::kHalvingDoubling, 1},
    Way{Kind::kAllGather, Algorithm::kHierarchical, 1},
    Way{Kind::kBroadcast, Algorithm::kRing, 8},
    Way{Kind::kBroadcast, Algorithm::kTree, 8},
    Way{Kind::kAllToAll, Algorithm::kDirect, 1},
    Way{Kind::kAllToAll, Algorithm::kRing, 1},
    Way{Kind::kAllToAll, Algorithm::kHierarchical, 1},
};

}  // namespace

TEST(CollectiveJob, ARingIsAsFastAsItsCables) {
  for (const std::uint32_t ranks : {2U, 3U, 8U, 32U}) {
    const CollectiveSpec work{
        .kind = Kind::kAllReduce, .algorithm = Algorithm::kRing, .bytes = 1'000'000'000};
    const JobResult result = run({.places = ranks}, work);
    // 2 S (N - 1) / N at 50 GB/s.
    const double bound = 2 * 1e9 * (ranks - 1) / ranks / 50e9;
    EXPECT_NEAR(seconds(result.bound), bound, bound * 1e-6);
    ASSERT_EQ(result.steps.size(), 1U);
    EXPECT_GE(result.steps[0], result.bound);
    EXPECT_LE(seconds(result.steps[0]), bound * 1.01);
    EXPECT_NEAR(result.bus_bandwidth, 50e9, 0.5e9);
    EXPECT_EQ(result.bytes_moved, 2'000'000'000ULL * (ranks - 1));
  }
}

TEST(CollectiveJob, HierarchicalPlanUsesEveryNic) {
  const FakeNetwork network{.places = 64, .per_server = 8};
  CollectiveSpec work{.algorithm = Algorithm::kHierarchical, .bytes = 800'000'000};
  const JobResult result = run(network, work);
  // Within servers 7/8 S twice at 450 GB/s, along each rail 2 S/8 x 7/8 at 50 GB/s.
  const double bound = 2 * 0.8e9 * 7 / 8 / 450e9 + 2 * 0.1e9 * 7 / 8 / 50e9;
  EXPECT_NEAR(seconds(result.bound), bound, bound * 1e-6);
  EXPECT_LE(seconds(result.steps[0]), bound * 1.02);
  // With chunks, data crosses servers while other data is on the rails.
  work.algorithm = Algorithm::kAuto;
  const JobResult overlapped = run(network, work);
  EXPECT_EQ(overlapped.work, "hierarchical all-reduce of 800 MB, 64 ranks");
  EXPECT_NEAR(seconds(overlapped.bound), 2 * 0.1e9 * 7 / 8 / 50e9, 1e-8);
  EXPECT_LT(seconds(overlapped.steps[0]), seconds(overlapped.bound) * 1.15);
  CollectiveSpec ring = work;
  ring.algorithm = Algorithm::kRing;  // one ring uses one NIC of each server
  EXPECT_GT(run(network, ring).steps[0], result.steps[0] * 4);
}

TEST(CollectiveJob, EveryAlgorithmCompletesInAnyOrderAndMovesThePlannedBytes) {
  for (const Way& way : kWays) {
    for (const std::uint32_t servers : {1U, 2U, 3U, 7U}) {
      const FakeNetwork network{.places = servers * 4, .per_server = 4, .jitter = 30'000'000};
      const CollectiveSpec work{.kind = way.kind,
                                .algorithm = way.algorithm,
                                .bytes = 1'000'003,
                                .iterations = 5,
                                .chunks = way.chunks};
      SCOPED_TRACE(std::string{words_of(way.algorithm)} + " " + std::string{words_of(way.kind)} +
                   ", servers " + std::to_string(servers));
      FakeCluster cluster{network};
      auto job = make_job(job_of(work), cluster.context(3));
      ASSERT_TRUE(job) << job.error();
      ASSERT_TRUE(cluster.run(**job)) << (*job)->result().trouble;
      const JobResult result = (*job)->result();
      EXPECT_EQ(result.steps.size(), 5U);
      EXPECT_EQ(std::accumulate(result.steps.begin(), result.steps.end(), Duration{}),
                result.end - result.start);

      std::vector<std::uint32_t> server_of;
      for (std::uint32_t i = 0; i < network.places; ++i) server_of.push_back(i / 4);
      const GroupLayout layout = layout_of(server_of);
      const auto plan = make_plan({way.kind, way.algorithm, work.bytes, way.chunks}, layout);
      std::uint64_t all = 0;
      for (std::uint32_t rank = 0; rank < network.places; ++rank) {
        std::uint64_t bytes = 0;
        std::vector<PeerLoad> loads;
        for (std::uint32_t phase = 0; phase < plan->phases(); ++phase) {
          plan->load(rank, phase, loads);
        }
        for (const PeerLoad& load : loads) bytes += load.bytes;
        EXPECT_EQ(cluster.bytes_from(rank), 5 * bytes) << rank;
        all += 5 * bytes;
      }
      EXPECT_EQ(result.bytes_moved, all);
      for (const Message& message : cluster.sent()) ASSERT_EQ(message.token.job, 3U);
    }
  }
}

TEST(CollectiveJob, NoAlgorithmIsFasterThanItsBound) {
  for (const Way& way : kWays) {
    const CollectiveSpec work{.kind = way.kind,
                              .algorithm = way.algorithm,
                              .bytes = 100'000'000,
                              .iterations = 2,
                              .chunks = way.chunks};
    const JobResult result = run({.places = 24, .per_server = 4}, work);
    SCOPED_TRACE(result.work);
    EXPECT_GT(result.bound, Duration::zero());
    // One iteration may end late and the next early, since ranks proceed independently.
    EXPECT_GE(result.end - result.start, 2 * result.bound);
  }
}

TEST(CollectiveJob, ChunksOverlap) {
  const auto time = [](std::uint32_t chunks) {
    return run({.places = 16}, {.kind = Kind::kBroadcast,
                                .algorithm = Algorithm::kRing,
                                .bytes = 100'000'000,
                                .chunks = chunks})
        .steps[0];
  };
  // A chain of 16: 15 times the buffer in one piece; 1.14 times in a hundred pieces.
  const double once = 100e6 / 50e9;
  EXPECT_NEAR(seconds(time(1)), 15 * once, once * 0.1);
  EXPECT_NEAR(seconds(time(100)), 1.14 * once, once * 0.05);
}

TEST(CollectiveJob, TreeSendsUpAndDownConcurrently) {
  const JobResult result = run({.places = 15}, {.kind = Kind::kAllReduce,
                                                .algorithm = Algorithm::kTree,
                                                .bytes = 1'000'000'000,
                                                .chunks = 200});
  // An inner member receives the buffer from two children and sends it to two.
  EXPECT_NEAR(seconds(result.bound), 3 * 1e9 / 50e9, 1e-3);
  // First up and then down would take four times the buffer.
  EXPECT_LT(seconds(result.steps[0]), 4 * 1e9 / 50e9);
}

TEST(CollectiveJob, AllToAllLimitsMessagesInFlight) {
  FakeCluster cluster{{.places = 40}};
  auto job = make_job(job_of({.kind = Kind::kAllToAll, .bytes = 40'000'000}), cluster.context());
  ASSERT_TRUE(job);
  ASSERT_TRUE(cluster.run(**job));
  for (std::uint32_t i = 0; i < 40; ++i) EXPECT_EQ(cluster.most_in_flight(i), 8U);
  const JobResult result = (*job)->result();
  EXPECT_LE(seconds(result.steps[0]), seconds(result.bound) * 1.1);
}

TEST(CollectiveJob, RailAllToAllStaysOnItsRails) {
  FakeCluster cluster{{.places = 32, .per_server = 8}};
  auto job = make_job(
      job_of({.kind = Kind::kAllToAll, .algorithm = Algorithm::kHierarchical, .bytes = 32'000'000}),
      cluster.context());
  ASSERT_TRUE(job);
  ASSERT_TRUE(cluster.run(**job));
  for (const Message& message : cluster.sent()) {
    const std::uint32_t from = message.from.value();
    const std::uint32_t to = message.to.value();
    EXPECT_TRUE(from / 8 == to / 8 || from % 8 == to % 8) << from << " to " << to;
  }
}

TEST(CollectiveJob, BusBandwidthIsThatOfNcclTests) {
  for (const auto& [kind, factor] :
       {std::pair{Kind::kAllReduce, 2 * 7.0 / 8}, std::pair{Kind::kAllGather, 7.0 / 8},
        std::pair{Kind::kReduceScatter, 7.0 / 8}, std::pair{Kind::kAllToAll, 7.0 / 8},
        std::pair{Kind::kBroadcast, 1.0}}) {
    const JobResult result =
        run({.places = 8}, {.kind = kind, .bytes = 80'000'000, .iterations = 3});
    const double time = seconds(result.end - result.start) / 3;
    EXPECT_NEAR(result.bus_bandwidth, 80e6 * factor / time, 1) << words_of(kind);
  }
}

TEST(CollectiveJob, ALongRingStaysNearItsBound) {
  const JobResult result =
      run({.places = 200},
          {.kind = Kind::kAllReduce, .algorithm = Algorithm::kRing, .bytes = 1'000'000'000});
  EXPECT_LE(seconds(result.steps[0]), seconds(result.bound) * 1.03);
}

TEST(CollectiveJob, IsDeterministic) {
  const auto once = [] {
    const FakeNetwork network{.places = 24, .per_server = 4, .jitter = 5'000'000};
    return run(network, {.kind = Kind::kAllReduce, .bytes = 10'000'000, .iterations = 10}).steps;
  };
  EXPECT_EQ(once(), once());
}

TEST(CollectiveJob, BeginsAtItsStartTime) {
  FakeCluster cluster{{.places = 4}};
  JobSpec spec = job_of({.kind = Kind::kAllReduce, .bytes = 1'000'000});
  spec.start = std::chrono::milliseconds{3};
  auto job = make_job(spec, cluster.context());
  ASSERT_TRUE(job);
  EXPECT_FALSE((*job)->done());
  EXPECT_EQ((*job)->result().trouble, "it has not begun");
  ASSERT_TRUE(cluster.run(**job));
  EXPECT_EQ((*job)->result().start, Time{std::chrono::milliseconds{3}});
  EXPECT_LT((*job)->result().steps[0], Duration{std::chrono::milliseconds{1}});
}

TEST(CollectiveJob, RejectsImpossibleJobsWithAReason) {
  const FakeNetwork eight{.places = 8, .per_server = 4};
  EXPECT_EQ(refused({.places = 1}, {.bytes = 1}),
            "job c: a collective needs at least 2 ranks, but the job has 1");
  EXPECT_EQ(refused(eight, {.bytes = 0}), "job c: all-reduce of 0 bytes moves nothing");
  EXPECT_EQ(refused(eight, {.bytes = 1, .iterations = 0}),
            "job c: iterations is 0, expected 1 to 1000000");
  EXPECT_EQ(refused(eight, {.bytes = 1, .chunks = 0}), "job c: chunks is 0, expected at least 1");
  EXPECT_EQ(refused(eight, {.kind = Kind::kAllGather, .algorithm = Algorithm::kTree, .bytes = 1}),
            "job c: there is no tree all-gather");
  EXPECT_EQ(refused(eight, {.algorithm = Algorithm::kHierarchical, .bytes = 1, .chunks = 17}),
            "job c: chunks is 17, expected 1 to 16");
  EXPECT_EQ(refused(eight, {.algorithm = Algorithm::kDirect, .bytes = 1}),
            "job c: there is no direct all-reduce");
  EXPECT_EQ(
      refused({.places = 10, .per_server = 4}, {.algorithm = Algorithm::kHierarchical, .bytes = 1}),
      "job c: a hierarchical all-reduce needs as many ranks on every server, but one has 2 "
      "and another 4");
}

TEST(PlaceRanks, PackedStripedAndRandom) {
  JobSpec spec;
  spec.ranks = 6;
  spec.first_gpu = 3;
  EXPECT_EQ(place_ranks(spec, 4, 8, 1), (std::vector<std::uint32_t>{3, 4, 5, 6, 7, 8}));
  spec.placement = Placement::kStriped;
  EXPECT_EQ(place_ranks(spec, 4, 8, 1), (std::vector<std::uint32_t>{0, 8, 16, 24, 1, 9}));
  spec.placement = Placement::kRandom;
  spec.ranks = 0;
  std::vector<std::uint32_t> all = place_ranks(spec, 4, 8, 1);
  EXPECT_EQ(all, place_ranks(spec, 4, 8, 1));
  EXPECT_NE(all, place_ranks(spec, 4, 8, 2));
  std::ranges::sort(all);
  for (std::uint32_t i = 0; i < 32; ++i) EXPECT_EQ(all[i], i);
  spec.ranks = 33;
  EXPECT_TRUE(place_ranks(spec, 4, 8, 1).empty());
  spec.placement = Placement::kPacked;
  spec.ranks = 30;
  EXPECT_TRUE(place_ranks(spec, 4, 8, 1).empty());
  EXPECT_TRUE(place_ranks(spec, 0, 8, 1).empty());
}

}  // namespace nerve::sim::collective_job_test
