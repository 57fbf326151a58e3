// Goal: the figures are correct. Method: values computed by hand.
#include "sim/results/statistics.h"

#include <gtest/gtest.h>

#include <numeric>

#include "sim/results/derived.h"
#include "sim/results/samples.h"
#include "sim/results/thin.h"
#include "tests/sim/sample_result.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;

TEST(Percentile, IsTheNearestRank) {
  std::vector<double> values(20);
  std::iota(values.begin(), values.end(), 1);  // 1 to 20
  EXPECT_EQ(percentile(values, 500), 10);
  EXPECT_EQ(percentile(values, 501), 11);
  EXPECT_EQ(percentile(values, 950), 19);
  EXPECT_EQ(percentile(values, 990), 20);
  EXPECT_EQ(percentile(values, 0), 1);
  EXPECT_EQ(percentile(values, 1000), 20);
  EXPECT_EQ(percentile({}, 500), 0);
}

TEST(Percentile, OfValuesInAnyOrder) {
  const Percentiles found = percentiles_of({4, 1, 3, 2});
  EXPECT_EQ(found.mean, 2.5);
  EXPECT_EQ(found.p50, 2);
  EXPECT_EQ(found.p95, 4);
  EXPECT_EQ(found.largest, 4);
}

TEST(Jain, IsOneForEqualValuesAndLowestForASingleOwner) {
  const auto of = [](std::vector<double> values) { return jain(values); };
  EXPECT_EQ(of({5, 5, 5, 5}), 1);
  EXPECT_EQ(of({8, 0, 0, 0}), 0.25);
  EXPECT_EQ(of({1, 3}), 0.8);  // 16 / (2 * 10)
  EXPECT_EQ(of({}), 0);
  EXPECT_EQ(of({0, 0}), 1);
}

TEST(SizeClasses, BeginAtTheirLowerLimit) {
  EXPECT_EQ(size_class_of(0), 0U);
  EXPECT_EQ(size_class_of(9'999), 0U);
  EXPECT_EQ(size_class_of(10'000), 1U);
  EXPECT_EQ(size_class_of(10'000'000), 4U);
  EXPECT_EQ(size_class_of(UINT64_MAX), 4U);
}

TEST(Samples, NeighboursMergeAndTheIntervalDoubles) {
  Samples samples{{Merge::kSum, Merge::kMean, Merge::kPeak}, microseconds{1}, 4};
  const auto add = [&](std::uint64_t a, std::uint64_t b, std::uint64_t c) {
    const auto row = samples.add();
    row[0] = a, row[1] = b, row[2] = c;
    samples.settle();
  };
  add(1, 10, 7);
  add(2, 20, 3);
  add(3, 30, 1);
  EXPECT_EQ(samples.size(), 3U);
  add(4, 50, 9);
  ASSERT_EQ(samples.size(), 2U);
  EXPECT_EQ(samples.every(), microseconds{2});
  EXPECT_EQ(samples.at(0, 0), 3U);
  EXPECT_EQ(samples.at(0, 1), 15U);
  EXPECT_EQ(samples.at(0, 2), 7U);
  EXPECT_EQ(samples.at(1, 0), 7U);
  EXPECT_EQ(samples.at(1, 1), 40U);
  EXPECT_EQ(samples.at(1, 2), 9U);
}

TEST(Samples, KeepsAtLeastHalfOfTheLimit) {
  Samples samples{{Merge::kSum}, microseconds{1}, 1024};
  std::uint64_t taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    samples.add()[0] = 1, ++taken;
    samples.settle();
    ASSERT_LT(samples.size(), 1024U);
    ASSERT_GE(samples.size(), i < 1024 ? 1U : 512U);
  }
  std::uint64_t kept = 0;
  for (std::size_t i = 0; i < samples.size(); ++i) kept += samples.at(i, 0);
  EXPECT_EQ(kept, taken);
}

TEST(Derived, FiguresOfACollective) {
  const JobFigures job = derive(test::sample_result()).jobs[0];
  EXPECT_EQ(job.completion, microseconds{300});
  EXPECT_EQ(job.step_mean, microseconds{100});
  EXPECT_EQ(job.step_least, microseconds{90});
  EXPECT_EQ(job.step_most, microseconds{110});
  EXPECT_EQ(job.above_bound, 0.25);
  EXPECT_EQ(job.bus_bandwidth_bound, 12.5e9);
  EXPECT_EQ(job.idle_share, 0.325);
  EXPECT_EQ(job.compute_share, 0.675);
  EXPECT_EQ(job.idle_share_worst, 0.4);
}

TEST(Derived, FiguresOfFlows) {
  const FlowFigures flows = derive(test::sample_result()).jobs[1].flows;
  EXPECT_EQ(flows.ended, 4U);
  EXPECT_EQ(flows.unfinished, 1U);
  EXPECT_EQ(flows.completion_ps.p50, 20e6);
  EXPECT_EQ(flows.completion_ps.largest, 100e6);
  EXPECT_EQ(flows.slowdown.largest, 6);
  ASSERT_EQ(flows.size_classes.size(), 2U);
  EXPECT_EQ(flows.size_classes[0].name, "under 10 KB");
  EXPECT_EQ(flows.size_classes[0].flows, 3U);
  EXPECT_EQ(flows.size_classes[0].slowdown.p50, 4);
  EXPECT_EQ(flows.size_classes[1].slowdown.p50, 2);
  EXPECT_DOUBLE_EQ(flows.jain_completion, 160.0 * 160 / (4 * (100 + 400 + 900 + 10'000)));
}

TEST(Derived, FiguresOfLinks) {
  const RunResult result = test::sample_result();
  const Derived derived = derive(result);
  EXPECT_EQ(derived.equipment.switches, 1U);
  EXPECT_EQ(derived.equipment.switch_ports, 2U);
  EXPECT_EQ(derived.equipment.cables, 2U);
  ASSERT_EQ(derived.link_groups.size(), 2U);
  EXPECT_EQ(derived.link_groups[0].name, "nic>leaf");
  EXPECT_EQ(derived.link_groups[0].utilisation_mean, 0.375);
  EXPECT_EQ(derived.link_groups[1].name, "leaf>nic");
  EXPECT_EQ(derived.link_groups[1].utilisation_largest, 0.75);
  EXPECT_EQ(derived.link_groups[1].most_queued, 1'000'000U);
  EXPECT_EQ(derived.busiest_links, (std::vector<std::uint32_t>{3, 0, 1, 2}));
  EXPECT_EQ(derived.deepest_queues, (std::vector<std::uint32_t>{3}));  // no NICs
  EXPECT_EQ(derived.retransmitted_share, 0.02);
}

TEST(Thin, KeepsAnEvenSelectionAndTheSlowestFlow) {
  RunResult result;
  result.jobs.resize(2);
  const auto flow = [](std::uint32_t number, std::int64_t us) {
    return FlowResult{number, 0, 1'000, Time{}, Time{microseconds{us}}, microseconds{1}};
  };
  for (std::uint32_t i = 0; i < 300; ++i) result.jobs[0].flows.push_back(flow(i, i == 77 ? 50 : 2));
  for (std::uint32_t i = 0; i < 100; ++i) result.jobs[1].flows.push_back(flow(i, 3));
  RunResult same = result;
  thin_flows(same, 400);
  EXPECT_EQ(same.jobs[0].flows.size(), 300U);
  EXPECT_EQ(same.jobs[0].flow_count, 300U);
  EXPECT_TRUE(same.remarks.empty());

  thin_flows(result, 40);
  EXPECT_EQ(result.jobs[0].flow_count, 300U);
  EXPECT_EQ(result.jobs[0].flows.size(), 31U);  // 30, and the slowest
  EXPECT_EQ(result.jobs[1].flows.size(), 10U);
  EXPECT_EQ(derive(result).jobs[0].flows.slowdown.largest, 50);
  ASSERT_EQ(result.remarks.size(), 1U);
  EXPECT_EQ(result.remarks[0],
            "41 of 400 flows are kept, evenly chosen; figures of flows are of those");
}

}  // namespace
}  // namespace nerve::sim
