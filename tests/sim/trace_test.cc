// Goal: a trace of a simulated run has its messages, and does not change the run. Method: a ring of
// servers, with and without a trace.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/results/run_result.h"
#include "sim/run.h"

namespace nerve::sim::trace_test {
namespace {

Scenario traced_ring() {
  Scenario scenario;
  scenario.name = "traced";
  scenario.servers.count = 4;
  scenario.servers.gpus = 1;
  scenario.servers.nics = 1;
  scenario.back_end.topology = TopologyKind::kStar;
  scenario.back_end.nic_rate = Rate::gigabits(100);
  JobSpec job;
  job.name = "job";
  job.work = CollectiveSpec{.kind = CollectiveKind::kAllReduce,
                            .algorithm = CollectiveAlgorithm::kRing,
                            .bytes = 1'000'000};
  scenario.jobs.push_back(job);
  return scenario;
}

TEST(SimTrace, DoesNotChangeTheResult) {
  const auto plain = run(traced_ring());
  ASSERT_TRUE(plain) << plain.error();
  RunTrace trace{.from = 0, .to = 1};
  const auto traced = run(traced_ring(), {.progress = {}, .trace = &trace});
  ASSERT_TRUE(traced) << traced.error();
  EXPECT_EQ(hash_of(*plain), hash_of(*traced));
  ASSERT_EQ(trace.nics.size(), 2U);
  for (const NicTrace& nic : trace.nics) {
    EXPECT_EQ(nic.lost(), 0U);
    for (const nic::TraceStep step :
         {nic::TraceStep::kPost, nic::TraceStep::kPacketSent, nic::TraceStep::kPacketReceived,
          nic::TraceStep::kPlaced, nic::TraceStep::kCompletion}) {
      EXPECT_GT(std::ranges::count(nic.records(), step, &nic::TraceRecord::step), 0);
    }
  }
}

TEST(SimTrace, RefusesGpusThatUseNoNic) {
  Scenario scenario = traced_ring();
  RunTrace trace{.from = 0, .to = 9};
  const auto none = run(scenario, {.progress = {}, .trace = &trace});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error(), "trace: there is no GPU 9; the last one is 3");
  trace.to = 0;
  const auto same = run(scenario, {.progress = {}, .trace = &trace});
  ASSERT_FALSE(same);
  EXPECT_EQ(same.error(), "trace: GPUs 0 and 0 are in one server and use no NIC");
}

}  // namespace
}  // namespace nerve::sim::trace_test
