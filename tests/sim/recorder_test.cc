// Goal: a recorder reports what the fabric did and does not affect it. Method: recorded traffic
// with known sums; the series are summed up.
#include "sim/results/recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "sim/results/derived.h"
#include "sim/topology/topologies.h"
#include "tests/sim/traffic.h"

namespace nerve::sim::recorder_test {
namespace {

using std::chrono::microseconds;
using test::Traffic;

constexpr std::uint32_t kMessage = 4'096'000;  // a thousand packets

const Series& series_of(const RunResult& result, const std::string& name) {
  const auto found = std::ranges::find(result.series, name, &Series::name);
  EXPECT_NE(found, result.series.end()) << name;
  static const Series none;
  return found == result.series.end() ? none : *found;
}

// The integral of values per second.
double integral(const RunResult& result, const std::string& name, Duration taken) {
  const std::vector<double>& values = series_of(result, name).values;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Duration begun = result.sample_every * static_cast<std::int64_t>(i);
    const Duration length = std::min(result.sample_every, taken - begun);
    sum += values[i] * static_cast<double>(length.count()) / 1e12;
  }
  return sum;
}

double peak(const Series& series) { return *std::ranges::max_element(series.values); }

std::vector<JobResult> a_job_until(Time end) {
  JobResult job;
  job.name = "job";
  job.done = true;
  job.end = end;
  return {job};
}

// Several NICs send to one more, through a switch.
struct Incast {
  explicit Incast(std::uint32_t senders, const FabricConfig& config, OutputSpec output = {},
                  std::uint32_t bytes = kMessage, const SimNicConfig& nics = {})
      : traffic{star(senders + 1, {}), config, nics}, recorder{traffic.world(), output} {
    for (std::uint32_t i = 0; i < senders; ++i) traffic.add(NodeId{i}, NodeId{senders}, bytes);
    traffic.run();
    recorder.finish(a_job_until(traffic.last_received()), result);
  }
  // When the series end: the last sample is complete or ends with the run.
  [[nodiscard]] Duration sampled() const {
    return result.sample_every *
           static_cast<std::int64_t>(result.series.empty() ? 0 : result.series[0].values.size());
  }
  Traffic traffic;
  Recorder recorder;
  RunResult result;
};

TEST(Recorder, CountsWhatWasSent) {
  const Incast run{2, {}};
  EXPECT_EQ(run.result.totals.data_packets, 2000U);
  EXPECT_EQ(run.result.totals.data_bytes, 2U * kMessage);
  EXPECT_EQ(run.result.totals.dropped, 0U);
  EXPECT_EQ(run.result.totals.retransmitted, 0U);
  EXPECT_EQ(run.result.simulated, run.traffic.last_received() - Time{});
  ASSERT_EQ(run.result.links.size(), 6U);
  // 62 bytes around each packet; RETH in the first and the immediate in the last packet of a
  // message.
  EXPECT_EQ(run.result.links[0].bytes, kMessage + 1000U * 62 + 16 + 4);
  EXPECT_EQ(run.result.links[5].bytes, 2 * run.result.links[0].bytes);
  EXPECT_GT(run.result.links[5].utilisation, 0.98);
  EXPECT_LE(run.result.links[5].utilisation, 1);
  EXPECT_NEAR(run.result.links[0].utilisation, run.result.links[5].utilisation / 2, 0.001);
}

TEST(Recorder, GoodputAddsUpToThePayload) {
  const Incast run{2, {}};
  const double gigabits = integral(run.result, "goodput", run.sampled());
  EXPECT_NEAR(gigabits, 2.0 * kMessage * 8 / 1e9, 1e-6);
}

TEST(Recorder, QueueSamplesArePeaks) {
  const Incast run{4, {}};
  const LinkResult& last = run.result.links[9];
  EXPECT_EQ(run.result.nodes[last.to].name, "nic4");
  EXPECT_GT(last.most_queued, 1'000'000U);
  EXPECT_EQ(peak(series_of(run.result, "queue:switch>nic4")), last.most_queued);
  EXPECT_EQ(peak(series_of(run.result, "deepest:switch")), last.most_queued);
  EXPECT_LE(peak(series_of(run.result, "queued:switch")), 2.0 * last.most_queued);
  EXPECT_EQ(derive(run.result).deepest_queues[0], 9U);
  EXPECT_LE(peak(series_of(run.result, "busiest:switch>nic")), 1);
  EXPECT_GT(peak(series_of(run.result, "busiest:switch>nic")), 0.99);
  // One of five links is busy.
  EXPECT_NEAR(peak(series_of(run.result, "utilisation:switch>nic")), 0.2, 0.01);
}

TEST(Recorder, PausesAddUp) {
  FabricConfig config;
  config.buffer.bytes = 1'000'000;
  const Incast run{8, config};
  const Totals& totals = run.result.totals;
  EXPECT_GT(totals.pauses, 0U);
  std::uint64_t pauses = 0;
  Duration paused{};
  for (const LinkResult& link : run.result.links) {
    pauses += link.pauses;
    paused += link.paused;
    EXPECT_EQ(link.pauses > 0, link.paused > Duration{});
  }
  EXPECT_EQ(pauses, totals.pauses);
  EXPECT_EQ(paused, totals.paused);
  const double port_seconds = integral(run.result, "paused", run.sampled());
  EXPECT_NEAR(port_seconds, static_cast<double>(totals.paused.count()) / 1e12, 1e-6);
}

TEST(Recorder, DropsAndMarksAddUp) {
  FabricConfig config;
  config.buffer = {.bytes = 300'000, .lossless = 0};
  config.marking.low = 50'000;
  config.marking.high = 200'000;
  SimNicConfig nics;
  nics.engine.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
  const Incast run{4, config, {}, kMessage, nics};
  const Totals& totals = run.result.totals;
  EXPECT_GT(totals.dropped, 0U);
  EXPECT_GT(totals.marked, 0U);
  EXPECT_GT(totals.retransmitted, 0U);
  EXPECT_GT(totals.congestion_notices, 0U);
  EXPECT_EQ(totals.data_packets, 4000 + totals.retransmitted);
  std::uint64_t dropped = 0;
  std::uint64_t marked = 0;
  for (const LinkResult& link : run.result.links) dropped += link.dropped, marked += link.marked;
  EXPECT_EQ(dropped, totals.dropped);
  EXPECT_EQ(marked, totals.marked);
  const auto near = [&](const char* name, std::uint64_t total) {
    EXPECT_NEAR(integral(run.result, name, run.sampled()), static_cast<double>(total), 0.5) << name;
  };
  near("drops", totals.dropped);
  near("marks", totals.marked);
}

TEST(Recorder, DoesNotAffectTheRun) {
  const auto times = [](bool watched) {
    Traffic traffic{leaf_spine({.leaves = 2, .spines = 2, .nics_per_leaf = 4}, {}), FabricConfig{}};
    std::optional<Recorder> recorder;
    if (watched) recorder.emplace(traffic.world(), OutputSpec{});
    for (std::uint32_t i = 0; i < 8; ++i) traffic.add(NodeId{i}, NodeId{(i + 4) % 8}, 400'000);
    traffic.run();
    std::vector<Time> all;
    for (const auto& message : traffic.messages()) all.push_back(message.acknowledged);
    return all;
  };
  EXPECT_EQ(times(true), times(false));
}

TEST(Recorder, DoesNotKeepARunAlive) {
  Traffic traffic{star(2, {}), FabricConfig{}};
  Recorder recorder{traffic.world(), {}};
  traffic.world().run(Time{std::chrono::seconds{1}});  // no events
  EXPECT_EQ(traffic.world().now(), Time{microseconds{1}});
  EXPECT_TRUE(traffic.world().idle());
}

TEST(Recorder, MayBeDestroyedBeforeItsLastEvent) {
  Traffic traffic{star(2, {}), FabricConfig{}};
  { const Recorder recorder{traffic.world(), {}}; }
  traffic.add(NodeId{0}, NodeId{1}, 100'000);
  traffic.run();
}

TEST(Recorder, BoundsTheSamplesOfALongRun) {
  for (const std::uint32_t bytes : {30'000'000U, 60'000'000U}) {
    const Incast run{1, {}, {}, bytes};
    const std::size_t samples = run.result.series[0].values.size();
    EXPECT_GE(samples, Recorder::kMostSamples / 2 - 1);
    EXPECT_LE(samples, Recorder::kMostSamples);
    const std::int64_t every = run.result.sample_every.count();
    EXPECT_EQ((run.result.simulated.count() + every - 1) / every,
              static_cast<std::int64_t>(samples));
    EXPECT_NEAR(integral(run.result, "goodput", run.sampled()), bytes * 8 / 1e9, 1e-4);
  }
}

TEST(Recorder, KeepsAFixedInterval) {
  const Incast run{1, {}, {.sample_every = std::chrono::nanoseconds{100}}, 20'000'000};
  EXPECT_EQ(run.result.sample_every, std::chrono::nanoseconds{100});
  EXPECT_GT(run.result.series[0].values.size(), 15'000U);
  EXPECT_TRUE(run.result.remarks.empty());
}

TEST(Recorder, StopEndsTheSeries) {
  Traffic traffic{star(2, {}), FabricConfig{}};
  Recorder recorder{traffic.world(), {}};
  traffic.add(NodeId{0}, NodeId{1}, kMessage);
  traffic.world().run(Time{microseconds{50}} + Duration{500'000});
  recorder.stop();
  traffic.run();
  RunResult result;
  result.totals.failed_messages = 3;
  recorder.finish({}, result);
  EXPECT_EQ(series_of(result, "goodput").values.size(), 51U);
  EXPECT_EQ(result.totals.failed_messages, 3U);
  EXPECT_EQ(result.totals.data_packets, 1000U);
}

TEST(Recorder, CountsPayloadOfHostsWithoutAnEngine) {
  Traffic traffic{star(2, {}), FabricConfig{}};
  Recorder recorder{traffic.world(), {}};
  std::uint64_t bytes = 0;
  recorder.also_delivered([&] { return bytes += 1'000; });
  traffic.add(NodeId{0}, NodeId{1}, 4096);
  traffic.run();
  RunResult result;
  recorder.finish({}, result);
  EXPECT_GE(series_of(result, "goodput").values.at(0), 8);  // 1 000 bytes in a microsecond
}

TEST(Recorder, TheSameSeedGivesTheSameHash) {
  const auto hash = [](std::uint64_t seed) {
    FabricConfig config;
    config.path_choice = PathChoice::kAdaptive;
    Traffic traffic{
        leaf_spine({.leaves = 2, .spines = 2, .nics_per_leaf = 4}, {}), config, {}, seed};
    Recorder recorder{traffic.world(), {}};
    for (std::uint32_t i = 0; i < 8; ++i) traffic.add(NodeId{i}, NodeId{(i * 3 + 4) % 8}, 400'000);
    traffic.run();
    RunResult result;
    recorder.finish(a_job_until(traffic.last_received()), result);
    return hash_of(result);
  };
  EXPECT_EQ(hash(1), hash(1));
  EXPECT_NE(hash(1), hash(2));
}

TEST(SampleColumns, ManyPortsAreRecordedPerSwitch) {
  std::vector<NodeResult> nodes{{"switch", 1, true}};
  std::vector<LinkResult> links;
  const auto join = [&](std::uint32_t a, std::uint32_t b) {
    links.push_back({.from = a, .to = b, .rate_bps = 1});
    links.push_back({.from = b, .to = a, .rate_bps = 1});
  };
  for (std::uint32_t i = 0; i < SampleColumns::kMostPorts; ++i) {
    nodes.push_back({"nic" + std::to_string(i), 0, false});
    join(i + 1, 0);
  }
  const std::size_t of_ports = SampleColumns{nodes, links}.merges().size();
  EXPECT_GT(of_ports, SampleColumns::kMostPorts);
  nodes.push_back({"other", 1, true});
  join(0, static_cast<std::uint32_t>(nodes.size() - 1));
  const SampleColumns columns{nodes, links};
  EXPECT_LT(columns.merges().size(), 32U);
  EXPECT_EQ(columns.places()[1].queue, columns.places()[3].queue);
  EXPECT_EQ(columns.places()[0].queue, SampleColumns::kNone);
  EXPECT_NE(columns.places()[1].queue, columns.places().back().queue);
}

TEST(SampleColumns, ParallelCablesHaveDistinctNames) {
  const std::vector<NodeResult> nodes{{"left", 1, true}, {"right", 1, true}};
  const std::vector<LinkResult> links(2, {.from = 0, .to = 1, .rate_bps = 1});
  const SampleColumns columns{nodes, links};
  Samples samples{columns.merges(), microseconds{1}, 2};
  const auto row = samples.add();
  row[columns.places()[0].queue] = 1;
  row[columns.places()[1].queue] = 2;
  const std::vector<Series> all = columns.series(samples, microseconds{1}, 16);
  EXPECT_EQ(all[all.size() - 2].name, "queue:left>right#2");
  EXPECT_EQ(all[all.size() - 1].name, "queue:left>right");
  EXPECT_EQ(columns.series(samples, microseconds{1}, 1).size(), all.size() - 1);
}

}  // namespace
}  // namespace nerve::sim::recorder_test
