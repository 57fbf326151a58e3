// Goal: a scenario becomes a run, a run ends, and reports why a job is not done. Method: small
// scenarios of each kind, results compared with bounds; all failures.
#include "sim/run.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "sim/run_setup.h"
#include "sim/scenario/scenario_file.h"
#include "tests/sim/times.h"

namespace nerve::sim::run_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::seconds;

constexpr std::uint64_t kMegabyte = 1'000'000;

Scenario cluster_of(std::uint32_t servers, std::uint32_t gpus) {
  Scenario scenario;
  scenario.name = "test";
  scenario.servers.count = servers;
  scenario.servers.gpus = gpus;
  scenario.servers.nics = gpus;
  scenario.back_end.topology = TopologyKind::kStar;
  scenario.back_end.nic_rate = Rate::gigabits(100);
  return scenario;
}

JobSpec job_of(const decltype(JobSpec::work)& work) {
  JobSpec job;
  job.name = "job";
  job.work = work;
  return job;
}

CollectiveSpec ring(std::uint64_t bytes) {
  return {
      .kind = CollectiveKind::kAllReduce, .algorithm = CollectiveAlgorithm::kRing, .bytes = bytes};
}

FlowsSpec flows(FlowPattern pattern, std::uint64_t bytes) {
  return {.pattern = pattern, .bytes = bytes, .file = {}};
}

RunResult run_of(const Scenario& scenario) {
  auto result = run(scenario);
  EXPECT_TRUE(result) << result.error();
  return result ? *result : RunResult{};
}

bool has_remark(const RunResult& result, std::string_view words) {
  return std::ranges::any_of(result.remarks, [&](const std::string& remark) {
    return remark.find(words) != std::string::npos;
  });
}

}  // namespace

TEST(Run, ARingIsAsFastAsItsBound) {
  Scenario scenario = cluster_of(8, 1);
  scenario.jobs.push_back(job_of(ring(32 * kMegabyte)));
  const RunResult result = run_of(scenario);
  ASSERT_EQ(result.jobs.size(), 1U);
  EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
  ASSERT_EQ(result.jobs[0].steps.size(), 1U);
  EXPECT_GE(result.jobs[0].steps[0], result.jobs[0].bound * 0.999);
  EXPECT_LE(result.jobs[0].steps[0], result.jobs[0].bound * 1.02);
  EXPECT_EQ(result.totals.dropped, 0U);
  EXPECT_EQ(result.scenario, "test");
  EXPECT_FALSE(result.version.empty());
}

TEST(Run, TheSameSeedGivesTheSameHash) {
  Scenario scenario = cluster_of(4, 2);
  scenario.jobs.push_back(job_of(flows(FlowPattern::kPermutation, kMegabyte)));
  scenario.nics.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
  const std::uint64_t first = hash_of(run_of(scenario));
  EXPECT_EQ(hash_of(run_of(scenario)), first);
  scenario.seed = 2;
  EXPECT_NE(hash_of(run_of(scenario)), first);
}

TEST(Run, TcpIsSlowerAndReportsItsCpuTime) {
  Scenario scenario = cluster_of(4, 1);
  scenario.jobs.push_back(job_of(ring(16 * kMegabyte)));
  const RunResult rdma = run_of(scenario);
  scenario.nics.transport = Transport::kTcp;
  const RunResult tcp = run_of(scenario);
  ASSERT_TRUE(tcp.jobs[0].done) << tcp.jobs[0].trouble;
  EXPECT_GT(tcp.simulated, rdma.simulated * 2);
  EXPECT_GT(tcp.totals.cpu.count(), 0);
  EXPECT_EQ(rdma.totals.cpu.count(), 0);
  EXPECT_GT(tcp.totals.data_bytes, 2 * 3 * 16 * kMegabyte / 4 * 4 - 1);
  EXPECT_TRUE(has_remark(tcp, "processor time"));
}

TEST(Run, EveryCongestionControlAndEveryKindOfLink) {
  using enum nic::CcAlgorithm;
  for (const nic::CcAlgorithm algorithm : {kNone, kDcqcn, kTimely, kSwift, kHpcc}) {
    Scenario scenario = cluster_of(9, 1);
    scenario.nics.flow_control.algorithm = algorithm;
    scenario.jobs.push_back(job_of(flows(FlowPattern::kIncast, kMegabyte)));
    const RunResult result = run_of(scenario);
    EXPECT_TRUE(result.jobs[0].done) << static_cast<int>(algorithm) << result.jobs[0].trouble;
    EXPECT_EQ(result.totals.dropped, 0U);
    EXPECT_GE(seconds(result.simulated), 8.0 * kMegabyte * 8 / 100e9);
  }
  Scenario scenario = cluster_of(9, 1);
  scenario.back_end.switches.kind = LinkKind::kInfiniBand;
  scenario.jobs.push_back(job_of(flows(FlowPattern::kIncast, kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
  EXPECT_EQ(result.totals.dropped, 0U);
}

TEST(Run, WithoutPfcDroppedPacketsAreRetransmitted) {
  Scenario scenario = cluster_of(9, 1);
  scenario.back_end.switches.buffer = {.bytes = 500'000, .lossless = 0};
  scenario.jobs.push_back(job_of(flows(FlowPattern::kIncast, kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
  EXPECT_GT(result.totals.dropped, 0U);
  EXPECT_GT(result.totals.retransmitted, 0U);
}

TEST(Run, SelectiveRepeatRetransmitsLess) {
  Scenario scenario = cluster_of(9, 1);
  scenario.back_end.switches.buffer = {.bytes = 500'000, .lossless = 0};
  scenario.jobs.push_back(job_of(flows(FlowPattern::kIncast, kMegabyte)));
  const RunResult back = run_of(scenario);
  scenario.nics.recovery = Recovery::kSelectiveRepeat;
  const RunResult selective = run_of(scenario);
  EXPECT_TRUE(selective.jobs[0].done) << selective.jobs[0].trouble;
  EXPECT_LT(selective.totals.retransmitted, back.totals.retransmitted / 2);
  EXPECT_LT(selective.simulated, back.simulated);
}

// Its window is small: a sender must not wait for an ACK that it has not requested.
TEST(Run, SelectiveRepeatHardlySlowsDownARing) {
  const auto time_with = [](const char* recovery) {
    const Override how{"nic.recovery", recovery};
    const auto scenario = read_scenario(R"(
[servers]
count = 8
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "400 Gb/s"
nics_per_leaf = 4
[[job]]
kind = "all-reduce"
algorithm = "ring"
size = "16 MB"
)",
                                        "test.toml", {&how, 1});
    EXPECT_TRUE(scenario) << text_of(scenario.error()[0]);
    return run_of(*scenario).simulated;
  };
  EXPECT_LE(time_with("selective-repeat"), time_with("go-back-n") * 1.06);
}

TEST(Run, SprayedPacketsAreNotRetransmitted) {
  Scenario scenario = cluster_of(16, 1);
  scenario.back_end.topology = TopologyKind::kLeafSpine;
  scenario.back_end.nics_per_leaf = 4;
  scenario.back_end.spines = 4;
  scenario.back_end.switches.path_choice = PathChoice::kSpray;
  scenario.nics.recovery = Recovery::kSelectiveRepeat;
  scenario.jobs.push_back(job_of(flows(FlowPattern::kPermutation, 2 * kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
  EXPECT_EQ(result.totals.retransmitted, 0U);
}

TEST(Run, SeparateRailsRelayAllToAllOverTheInterconnect) {
  Scenario scenario = cluster_of(4, 4);
  scenario.back_end.topology = TopologyKind::kRailOnly;
  scenario.jobs.push_back(job_of(flows(FlowPattern::kAllToAll, kMegabyte / 4)));
  const RunResult result = run_of(scenario);
  EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
}

TEST(Run, DualPlaneUsesBothPortsOfANic) {
  Scenario scenario = cluster_of(4, 1);
  scenario.back_end.topology = TopologyKind::kDualPlane;
  scenario.nics.qps_per_pair = 2;
  scenario.jobs.push_back(job_of(flows(FlowPattern::kShift, 8 * kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
  EXPECT_LT(seconds(result.simulated), 8.0 * kMegabyte * 8 / 100e9 * 1.1);
}

TEST(Run, CheckpointsGoToStorageOnTheFrontEnd) {
  Scenario scenario = cluster_of(4, 2);
  scenario.front_end = NetworkSpec{};
  scenario.front_end->topology = TopologyKind::kStar;
  scenario.front_end->nic_rate = Rate::gigabits(25);
  scenario.front_end_nics.transport = Transport::kTcp;
  scenario.storage = StorageSpec{.servers = 2, .rate = Rate::gigabits(20), .on_front_end = true};
  JobSpec checkpoint = job_of(flows(FlowPattern::kCheckpoint, kMegabyte));
  checkpoint.on_front_end = true;
  scenario.jobs = {checkpoint, job_of(ring(kMegabyte))};
  const RunResult result = run_of(scenario);
  for (const JobResult& job : result.jobs) EXPECT_TRUE(job.done) << job.trouble;
  // Eight ranks, two disks.
  EXPECT_GE(seconds(result.simulated), 4.0 * kMegabyte * 8 / 20e9);
  EXPECT_GT(result.totals.cpu.count(), 0);
}

TEST(Run, PayloadCanBeChecked) {
  Scenario scenario = cluster_of(4, 1);
  scenario.nics.check_payload = true;
  scenario.jobs.push_back(job_of(flows(FlowPattern::kAllToAll, 100'000)));
  const RunResult result = run_of(scenario);
  EXPECT_TRUE(has_remark(result, "1200000 bytes of payload checked, 0 wrong"));
}

TEST(Run, PcieSlowerThanTheCableIsTheBound) {
  Scenario scenario = cluster_of(2, 1);
  scenario.servers.pcie = Rate::gigabits(50);
  scenario.jobs.push_back(job_of(flows(FlowPattern::kShift, 8 * kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_GE(seconds(result.simulated), 8.0 * kMegabyte * 8 / 50e9);
  EXPECT_TRUE(has_remark(result, "Gb/s are held to 50 by servers.pcie"));
}

TEST(Run, NicsOf800GAreAsFastAsTheirCables) {
  Scenario scenario = cluster_of(2, 1);
  scenario.back_end.nic_rate = Rate::gigabits(800);
  scenario.jobs.push_back(job_of(flows(FlowPattern::kShift, 8 * kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_LE(seconds(result.simulated), 8.0 * kMegabyte * 8 / 700e9);
  EXPECT_FALSE(has_remark(result, "pcie"));
}

TEST(Run, TimeLimitStopsTheJob) {
  Scenario scenario = cluster_of(8, 1);
  scenario.until = microseconds{300};
  scenario.jobs.push_back(job_of(ring(32 * kMegabyte)));
  const RunResult result = run_of(scenario);
  EXPECT_FALSE(result.jobs[0].done);
  EXPECT_EQ(result.jobs[0].trouble.find("not done after 0.0003 s"), 0U) << result.jobs[0].trouble;
}

TEST(Run, CableThatStaysDownFailsTheJob) {
  for (const Transport transport : {Transport::kRdma, Transport::kTcp}) {
    Scenario scenario = cluster_of(4, 1);
    scenario.until = milliseconds{2000};
    scenario.nics.transport = transport;
    scenario.jobs.push_back(job_of(ring(16 * kMegabyte)));
    scenario.faults.push_back(
        {.at = microseconds{500}, .kind = FaultKind::kDown, .from = "nic2", .to = "switch"});
    const RunResult result = run_of(scenario);
    EXPECT_FALSE(result.jobs[0].done);
    const std::string expected = transport == Transport::kRdma
                                     ? "was lost: no answer to any of its packets"
                                     : "not done after 2 s";
    EXPECT_NE(result.jobs[0].trouble.find(expected), std::string::npos) << result.jobs[0].trouble;
    EXPECT_GT(result.totals.lost + result.totals.dropped, 0U);
  }
}

TEST(Run, JobSurvivesACableThatComesBack) {
  for (const Transport transport : {Transport::kRdma, Transport::kTcp}) {
    Scenario scenario = cluster_of(4, 1);
    scenario.nics.transport = transport;
    scenario.jobs.push_back(job_of(ring(16 * kMegabyte)));
    scenario.faults = {
        {.at = microseconds{500}, .kind = FaultKind::kDown, .from = "nic2", .to = "switch"},
        {.at = milliseconds{3}, .kind = FaultKind::kUp, .from = "nic2", .to = "switch"}};
    const RunResult result = run_of(scenario);
    EXPECT_TRUE(result.jobs[0].done) << result.jobs[0].trouble;
    EXPECT_GT(result.totals.retransmitted, 0U);
  }
}

TEST(Run, RejectsScenariosThatCannotBeBuilt) {
  Scenario scenario = cluster_of(2, 2);
  scenario.jobs.push_back(job_of(ring(1000)));
  scenario.jobs[0].on_front_end = true;
  EXPECT_EQ(run(scenario).error(), "job job is on the front end, but there is none");
  scenario.jobs[0].on_front_end = false;
  scenario.faults.push_back({.kind = FaultKind::kDown, .from = "nic9", .to = "switch"});
  EXPECT_FALSE(run(scenario));
  scenario.faults.clear();
  scenario.jobs[0].ranks = 5;
  EXPECT_FALSE(run(scenario));
  scenario.servers.count = 0;
  EXPECT_EQ(run(scenario).error(), "there are no servers");
  EXPECT_EQ(memory_needed(scenario), 0U);
}

TEST(Run, MemoryEstimateGrowsWithConnections) {
  Scenario scenario = cluster_of(64, 1);
  scenario.jobs.push_back(job_of(ring(1000)));
  const std::uint64_t few = memory_needed(scenario);
  scenario.jobs[0].work = flows(FlowPattern::kAllToAll, 1000);
  EXPECT_GT(memory_needed(scenario), few);
}

// Along rails a GPU has connections to one GPU of each server.
TEST(Run, MemoryEstimateOfAnAllToAllDependsOnItsAlgorithm) {
  Scenario scenario = cluster_of(16, 8);
  CollectiveSpec work{.kind = CollectiveKind::kAllToAll, .bytes = 1000};
  const auto estimate = [&](CollectiveAlgorithm algorithm) {
    work.algorithm = algorithm;
    scenario.jobs = {job_of(work)};
    return memory_needed(scenario);
  };
  EXPECT_LT(estimate(CollectiveAlgorithm::kHierarchical), estimate(CollectiveAlgorithm::kDirect));
  EXPECT_EQ(estimate(CollectiveAlgorithm::kHierarchical), estimate(CollectiveAlgorithm::kAuto));
}

std::uint64_t most_memory_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// The estimate decides whether a run may begin, so it must not need the memory of the run.
TEST(Run, MemoryEstimateOfALargeNetworkNeedsLittleMemory) {
  for (const TopologyKind topology : {TopologyKind::kFatTree, TopologyKind::kDragonfly}) {
    Scenario scenario = cluster_of(60'000, 1);
    scenario.back_end.topology = topology;
    scenario.jobs.push_back(job_of(ring(1000)));
    const std::uint64_t before = most_memory_so_far();
    EXPECT_GT(memory_needed(scenario), 2000 * kMegabyte);
    EXPECT_LT(most_memory_so_far() - before, 200 * kMegabyte);
  }
}

TEST(RunSetup, DefaultRatesScaleWithTheLineRate) {
  nic::FlowControlConfig given;
  const auto made = settled(given, Rate::gigabits(400), microseconds{8});
  EXPECT_EQ(made.dcqcn.additive_increase, Rate::megabits(400));
  EXPECT_EQ(made.dcqcn.hyper_increase, Rate::megabits(4000));
  EXPECT_EQ(made.timely.step, Rate::megabits(400));
  EXPECT_EQ(made.hpcc.base_round_trip, microseconds{8});
  given.dcqcn.additive_increase = Rate::megabits(50);
  given.hpcc.base_round_trip = microseconds{5};
  const auto chosen = settled(given, Rate::gigabits(400), microseconds{8});
  EXPECT_EQ(chosen.dcqcn.additive_increase, Rate::megabits(50));
  EXPECT_EQ(chosen.hpcc.base_round_trip, microseconds{5});
}

TEST(RunSetup, TimeoutIsRoundedUpToACode) {
  EXPECT_EQ(timeout_code(microseconds{1}), 1U);
  EXPECT_EQ(timeout_code(milliseconds{1}), 8U);
  EXPECT_EQ(timeout_code(milliseconds{16}), 12U);
  EXPECT_EQ(timeout_code(std::chrono::hours{100}), 31U);
}

}  // namespace nerve::sim::run_test
