// Goal: flows follow their pattern in sender, receiver and time; untrusted flow lists are read or
// rejected. Method: jobs on a network with known times; malformed lists of all kinds.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <set>

#include "sim/workload/chance.h"
#include "sim/workload/flow_list.h"
#include "tests/sim/fake_cluster.h"
#include "tests/sim/times.h"

namespace nerve::sim::flows_job_test {
namespace {

using test::FakeCluster;
using test::FakeNetwork;
using test::seconds;

JobSpec job_of(const FlowsSpec& work) {
  JobSpec spec;
  spec.name = "f";
  spec.work = work;
  return spec;
}

JobResult run(const FakeNetwork& network, const FlowsSpec& work) {
  FakeCluster cluster{network};
  auto job = make_job(job_of(work), cluster.context());
  EXPECT_TRUE(job) << job.error();
  if (!job) return {};
  EXPECT_TRUE(cluster.run(**job)) << (*job)->result().trouble;
  if (work.pattern != FlowPattern::kRandom) {  // which draws its sizes
    EXPECT_EQ((*job)->bytes_planned(), (*job)->result().bytes_moved);
  }
  return (*job)->result();
}

std::string refused(const FakeNetwork& network, const FlowsSpec& work) {
  FakeCluster cluster{network};
  const auto job = make_job(job_of(work), cluster.context());
  return job ? "was made" : job.error();
}

}  // namespace

TEST(FlowsJob, PermutationGivesEachRankOneSenderAndOneReceiver) {
  const JobResult result = run({.places = 33}, {.bytes = 1'000'000, .repeat = 3});
  ASSERT_EQ(result.flows.size(), 99U);
  std::map<std::uint32_t, int> from;
  std::map<std::uint32_t, int> to;
  for (const FlowResult& flow : result.flows) {
    EXPECT_NE(flow.from, flow.to);
    ++from[flow.from];
    ++to[flow.to];
    EXPECT_EQ(flow.end - flow.start, flow.ideal);  // no contention
  }
  for (std::uint32_t rank = 0; rank < 33; ++rank) {
    EXPECT_EQ(from[rank], 3);
    EXPECT_EQ(to[rank], 3);
  }
  EXPECT_EQ(result.steps.size(), 3U);
  EXPECT_EQ(result.bytes_moved, 99'000'000U);
  EXPECT_EQ(result.work, "permutation of 1 MB each, 33 ranks, 3 times");
}

TEST(FlowsJob, ShiftAndIncastUseTheirTargets) {
  const JobResult shift =
      run({.places = 5}, {.pattern = FlowPattern::kShift, .bytes = 10, .shift = 7});
  ASSERT_EQ(shift.flows.size(), 5U);
  for (const FlowResult& flow : shift.flows) EXPECT_EQ(flow.to, (flow.from + 2) % 5);

  const JobResult incast =
      run({.places = 9}, {.pattern = FlowPattern::kIncast, .bytes = 50'000'000});
  ASSERT_EQ(incast.flows.size(), 8U);
  for (const FlowResult& flow : incast.flows) EXPECT_EQ(flow.to, 0U);
  EXPECT_EQ(incast.bound, Duration{std::chrono::milliseconds{8}});  // 400 MB at 50 GB/s
  EXPECT_NEAR(seconds(incast.steps[0]), 8e-3, 1e-5);
}

TEST(FlowsJob, AllToAllIsEveryPairOnce) {
  const JobResult result =
      run({.places = 12}, {.pattern = FlowPattern::kAllToAll, .bytes = 1000, .repeat = 2});
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> pairs;
  for (const FlowResult& flow : result.flows) ++pairs[{flow.from, flow.to}];
  EXPECT_EQ(pairs.size(), 132U);
  for (const auto& [pair, count] : pairs) EXPECT_EQ(count, 2);
}

TEST(FlowsJob, CheckpointUsesStorageServersInTurn) {
  const FakeNetwork network{.places = 8, .per_server = 4, .storage = 3};
  const JobResult result = run(network, {.pattern = FlowPattern::kCheckpoint, .bytes = 1'000'000});
  ASSERT_EQ(result.flows.size(), 8U);
  for (const FlowResult& flow : result.flows) EXPECT_EQ(flow.to, 8 + flow.from % 3);
  // The busiest server has three ranks.
  EXPECT_NEAR(seconds(result.bound), 3e6 / 50e9, 1e-9);
}

TEST(FlowsJob, UsesTheNetworkOfTheScenario) {
  for (const bool front : {false, true}) {
    FakeCluster cluster{{.places = 3, .storage = 1}};
    JobSpec spec = job_of({.pattern = FlowPattern::kCheckpoint, .bytes = 5'000});
    spec.on_front_end = front;
    JobContext context = cluster.context(9);
    context.storage_rate = Rate::gigabits(4);
    context.delay_between = [](PlaceId from, PlaceId to) {
      return Duration{from.value() * 100 + to.value()};
    };
    auto job = make_job(spec, context);
    ASSERT_TRUE(job) << job.error();
    ASSERT_TRUE(cluster.run(**job));
    for (const Message& message : cluster.sent()) {
      EXPECT_EQ(message.on_front_end, front);
      EXPECT_EQ(message.token.job, 9U);
    }
    // 5 kB at 4 Gb/s, plus the delay.
    const std::vector<FlowResult> flows = (*job)->result().flows;
    ASSERT_EQ(flows.size(), 3U);
    EXPECT_EQ(flows[2].ideal, Duration{10'000'000 + 203});
  }
}

TEST(FlowsJob, RandomFlowsReachTheRequestedLoad) {
  const JobResult result =
      run({.places = 16},
          {.pattern = FlowPattern::kRandom, .bytes = 100'000, .load = 0.25, .requests = 20'000});
  ASSERT_EQ(result.flows.size(), 20'000U);
  std::uint64_t bytes = 0;
  for (const FlowResult& flow : result.flows) {
    bytes += flow.bytes;
    EXPECT_NE(flow.from, flow.to);
    EXPECT_GE(flow.end - flow.start, flow.ideal);
  }
  EXPECT_NEAR(static_cast<double>(bytes) / 20'000, 100'000, 3000);
  EXPECT_NEAR(static_cast<double>(bytes) / seconds(result.end - result.start), 0.25 * 16 * 50e9,
              0.03 * 0.25 * 16 * 50e9);
}

TEST(FlowsJob, KvCachesGoFromPrefillToDecode) {
  const JobResult result =
      run({.places = 7},
          {.pattern = FlowPattern::kKvCache, .bytes = 4'000'000, .load = 0.6, .requests = 300});
  ASSERT_EQ(result.flows.size(), 300U);
  std::set<std::uint32_t> to;
  for (const FlowResult& flow : result.flows) {
    EXPECT_LT(flow.from, 3U);
    EXPECT_GE(flow.to, 3U);
    EXPECT_EQ(flow.bytes, 4'000'000U);
    to.insert(flow.to);
  }
  EXPECT_EQ(to.size(), 4U);
}

TEST(FlowsJob, RandomChoicesFollowTheSeed) {
  const auto starts = [](std::uint64_t seed) {
    FakeCluster cluster{{.places = 4}};
    JobContext context = cluster.context();
    context.seed = seed;
    auto job = make_job(job_of({.pattern = FlowPattern::kRandom, .bytes = 10'000, .requests = 50}),
                        context);
    EXPECT_TRUE(job && cluster.run(**job));
    std::vector<std::uint64_t> all;
    for (const FlowResult& flow : (*job)->result().flows) all.push_back(flow.start.picoseconds());
    return all;
  };
  EXPECT_EQ(starts(1), starts(1));
  EXPECT_NE(starts(1), starts(2));
}

TEST(Chance, LogarithmIsCorrect) {
  Prng prng{1};
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t x = prng.next() >> prng.below(64);
    if (x == 0) continue;
    const double exact = -std::log(static_cast<double>(x) / 18446744073709551616.0);
    EXPECT_NEAR(static_cast<double>(minus_log(x)) / 4294967296.0, exact, 1e-8) << x;
  }
  EXPECT_EQ(minus_log(std::uint64_t{1} << 63), 2'977'044'471U);  // ln 2, rounded down
}

TEST(Chance, GapsHaveTheExpectedMeanAndSpread) {
  Prng prng{2};
  constexpr int kDrawn = 200'000;
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < kDrawn; ++i) {
    const auto gap = static_cast<double>(exponential(prng, 1'000'000)) / 1e6;
    sum += gap;
    squares += gap * gap;
  }
  EXPECT_NEAR(sum / kDrawn, 1, 0.01);
  EXPECT_NEAR(squares / kDrawn, 2, 0.05);
}

// Values of one machine, which every machine and build must reproduce.
TEST(Chance, IsTheSameOnEveryMachine) {
  Prng prng{3};
  std::uint64_t sum = 0;
  for (int i = 0; i < 1000; ++i) sum = sum * 31 + exponential(prng, 1'000'000'000'000);
  EXPECT_EQ(sum, 8'846'756'748'899'366'862U);
}

TEST(FlowList, IsSortedByStartTime) {
  const auto flows =
      parse_flow_list("3\n0 1 3 100 5000 2.5\n\n 2 3 3 100 17 1e-6 \r\n1 0 0 0 1 0\n", "list", 4);
  ASSERT_TRUE(flows) << flows.error();
  ASSERT_EQ(flows->size(), 3U);
  EXPECT_EQ((*flows)[0].from, 1U);
  EXPECT_EQ((*flows)[1].bytes, 17U);
  EXPECT_EQ((*flows)[1].start, Duration{std::chrono::microseconds{1}});
  EXPECT_EQ((*flows)[2].start, Duration{std::chrono::milliseconds{2500}});
}

TEST(FlowList, ErrorsNameTheLine) {
  const auto why = [](std::string_view text) {
    const auto flows = parse_flow_list(text, "list", 4);
    return flows ? std::string{"was read"} : flows.error();
  };
  EXPECT_EQ(why(""), "list:1: the file is empty, expected the number of flows");
  EXPECT_EQ(why("x"), "list:1: number of flows is x, expected a number from 1 to 10000000");
  EXPECT_EQ(why("0\n"), "list:1: number of flows is 0, expected a number from 1 to 10000000");
  EXPECT_EQ(why("1 2\n"), "list:1: expected the number of flows alone on the first line");
  EXPECT_EQ(why("1\n0 1 3 100 5000\n"),
            "list:2: 5 words, expected 6: src dst priority port bytes start");
  EXPECT_EQ(why("1\n0 4 3 100 5000 0\n"), "list:2: dst is 4, expected a number from 0 to 3");
  EXPECT_EQ(why("1\n-1 1 3 100 5000 0\n"), "list:2: src is -1, expected a number from 0 to 3");
  EXPECT_EQ(why("1\n1 1 3 100 5000 0\n"), "list:2: dst is 1, expected another than src");
  EXPECT_EQ(why("1\n0 1 9 100 5000 0\n"), "list:2: priority is 9, expected a number from 0 to 7");
  EXPECT_EQ(why("1\n0 1 3 70000 5000 0\n"),
            "list:2: port is 70000, expected a number from 0 to 65535");
  EXPECT_EQ(why("1\n0 1 3 100 0 0\n"),
            "list:2: bytes is 0, expected a number from 1 to 1125899906842624");
  EXPECT_EQ(why("1\n0 1 3 100 5e3 0\n"),
            "list:2: bytes is 5e3, expected a number from 1 to 1125899906842624");
  for (const char* const start : {"-1", "nan", "inf", "1e9", "0x", "1s"}) {
    EXPECT_EQ(why("1\n0 1 3 100 5 " + std::string{start}),
              "list:2: start is " + std::string{start} + ", expected seconds from 0 to 1000000");
  }
  EXPECT_EQ(why("2\n0 1 3 100 5 0\n"), "list:2: 1 flows, but the first line announces 2");
  EXPECT_EQ(why("1\n0 1 3 100 5 0\n0 1 3 100 5 0\n"),
            "list:3: more flows than the 1 announced in the first line");
}

TEST(FlowList, RunsAsAJob) {
  const std::string file = testing::TempDir() + "nerve_flow_list.txt";
  std::ofstream{file} << "3\n0 1 3 100 50000 0.001\n1 2 3 100 50000 0\n2 0 3 100 50000 0\n";
  const JobResult result = run({.places = 3}, {.pattern = FlowPattern::kList, .file = file});
  ASSERT_EQ(result.flows.size(), 3U);
  EXPECT_EQ(result.flows[0].start, Time{});
  EXPECT_EQ(result.flows[2].start, Time{std::chrono::milliseconds{1}});
  EXPECT_EQ(result.flows[2].end - result.flows[2].start, result.flows[2].ideal);
  EXPECT_EQ(refused({.places = 3}, {.pattern = FlowPattern::kList, .file = file + ".not"}),
            "job f: " + file + ".not: cannot be opened");
  EXPECT_EQ(refused({.places = 2}, {.pattern = FlowPattern::kList, .file = file}),
            "job f: " + file + ":3: dst is 2, expected a number from 0 to 1");
}

TEST(FlowsJob, RejectsImpossibleJobsWithAReason) {
  const FakeNetwork four{.places = 4};
  EXPECT_EQ(refused(four, {.bytes = 0}), "job f: size is 0, expected 1 to 1125899906842624");
  EXPECT_EQ(refused({.places = 1}, {.bytes = 1}),
            "job f: permutation needs at least 2 ranks, but the job has 1");
  EXPECT_EQ(refused(four, {.bytes = 1, .repeat = 0}), "job f: repeat is 0, expected at least 1");
  EXPECT_EQ(refused(four, {.bytes = 1, .repeat = 4'000'000'000}),
            "job f: 4 flows, repeated 4000000000 times, exceed the limit of 50000000");
  EXPECT_EQ(refused(four, {.pattern = FlowPattern::kShift, .bytes = 1, .shift = 8}),
            "job f: shift 8 of 4 ranks makes each rank send to itself");
  EXPECT_EQ(refused(four, {.pattern = FlowPattern::kCheckpoint, .bytes = 1}),
            "job f: a checkpoint needs storage servers, but the scenario has none");
  EXPECT_EQ(refused(four, {.pattern = FlowPattern::kRandom, .bytes = 1}),
            "job f: requests is 0, expected 1 to 50000000");
  EXPECT_EQ(refused(four, {.pattern = FlowPattern::kKvCache, .bytes = 1, .load = 0, .requests = 1}),
            "job f: load is 0, expected more than 0 and at most 100");
  EXPECT_EQ(
      refused(four,
              {.pattern = FlowPattern::kRandom, .bytes = 1, .load = std::nan(""), .requests = 1}),
      "job f: load is nan, expected more than 0 and at most 100");
  EXPECT_EQ(
      refused(
          four,
          {.pattern = FlowPattern::kRandom, .bytes = 1'000'000'000, .load = 1e-9, .requests = 1}),
      "job f: load 1e-09 of 1 GB each leaves more than eleven days between requests");
}

}  // namespace nerve::sim::flows_job_test
