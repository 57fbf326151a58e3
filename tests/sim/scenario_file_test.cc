// Scenario files as users write them: a short one, a long one, all examples, and overrides from the
// command line.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/fabric/marking.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr const char* kShort = R"(
[servers]
count = 8
[[job]]
kind = "all-reduce"
size = "64 MB"
)";

std::string problems(const std::vector<ScenarioError>& errors) {
  std::string all;
  for (const ScenarioError& error : errors) all += text_of(error) + "\n";
  return all;
}

Scenario read(const std::string& text, const std::vector<std::string>& set = {}) {
  std::vector<Override> overrides;
  for (const std::string& word : set) {
    const auto one = parse_override(word);
    EXPECT_TRUE(one) << word;
    if (one) overrides.push_back(*one);
  }
  auto scenario = read_scenario(text, "folder/x.toml", overrides);
  if (scenario) return *scenario;
  ADD_FAILURE() << problems(scenario.error());
  return {};
}

std::string contents(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

}  // namespace

TEST(ScenarioFile, ShortFileGetsDefaults) {
  const Scenario s = read(kShort);
  EXPECT_EQ(s.name, "x");
  EXPECT_EQ(s.seed, 1U);
  EXPECT_EQ(s.servers.count, 8U);
  EXPECT_EQ(s.servers.gpus, 8U);
  EXPECT_EQ(s.servers.nics, 8U);
  EXPECT_EQ(s.back_end.topology, TopologyKind::kLeafSpine);
  EXPECT_EQ(s.back_end.nic_rate, Rate::gigabits(400));
  EXPECT_FALSE(s.front_end);
  EXPECT_EQ(s.nics.flow_control.algorithm, nic::CcAlgorithm::kDcqcn);
  EXPECT_EQ(thresholds_of(s.back_end.switches.marking, Rate::gigabits(100)),
            (MarkingThresholds{400'000, 1'600'000}));
  EXPECT_EQ(thresholds_of(s.back_end.switches.marking, Rate::gigabits(400)),
            (MarkingThresholds{1'600'000, 6'400'000}));
  EXPECT_NE(s.back_end.switches.buffer.lossless, 0);
  ASSERT_EQ(s.jobs.size(), 1U);
  EXPECT_EQ(s.jobs[0].name, "all-reduce");
  EXPECT_EQ(s.jobs[0].ranks, 64U);
  const auto* work = std::get_if<CollectiveSpec>(&s.jobs[0].work);
  ASSERT_NE(work, nullptr);
  EXPECT_EQ(work->kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(work->bytes, 64'000'000U);
}

TEST(ScenarioFile, EveryTableIsRead) {
  const Scenario s = read(R"(
name = "all of it"
description = "words"
seed = 77
until = "2.5 s"
[servers]
count = 4
gpus = 16
nics = 4
interconnect = "900 GB/s"
interconnect_delay = "1 us"
pcie = 0
[fabric]
topology = "dual-plane"
nic_rate = "12.5 GB/s"
trunk_delay = "2.5 us"
routing = "flowlet"
flowlet_gap = "20 us"
cut_through = true
[fabric.buffer]
size = "16 MiB"
pause_at = 0.25
[fabric.ecn]
low = "5 KB"
high = "200 KB"
chance = 0.01
[front_end]
topology = "star"
[front_end.buffer]
size = "9 MB"
[front_end.nic]
transport = "rdma"
[storage]
servers = 3
rate = "2 GB/s"
[nic]
congestion = "hpcc"
recovery = "selective-repeat"
mtu = 1024
qps_per_pair = 4
[nic.hpcc]
eta = 0.9
[nic.timely]
beta = 0.5
[tcp]
algorithm = "cubic"
mtu = 1500
[[job]]
kind = "training"
micro_batches = 4
bucket = "10 MB"
[job.model]
parameters = 7e9
layers = 32
hidden = 4096
precision = "fp8"
[job.parallelism]
tensor = 8
pipeline = 2
[[job.straggler]]
rank = 63
slowdown = 1.5
[[job]]
kind = "checkpoint"
name = "save"
size = "1 GB"
start = "3 ms"
[[job]]
kind = "flow-list"
file = "flows.txt"
[[fault]]
at = "1 ms"
kind = "slow"
from = "leaf0"
to = "spine1"
rate = "10 Gb/s"
[output]
sample_every = "10 us"
top_ports = 4
)");
  EXPECT_EQ(s.name, "all of it");
  EXPECT_EQ(s.seed, 77U);
  EXPECT_EQ(s.until, milliseconds{2500});
  EXPECT_EQ(s.servers.pcie, Rate{});
  EXPECT_EQ(s.servers.interconnect, Rate::gigabits(7200));
  EXPECT_EQ(s.back_end.topology, TopologyKind::kDualPlane);
  EXPECT_EQ(s.back_end.nic_rate, Rate::gigabits(100));
  EXPECT_EQ(s.back_end.trunk_delay, nanoseconds{2500});
  EXPECT_EQ(s.back_end.switches.path_choice, PathChoice::kFlowlet);
  EXPECT_EQ(s.back_end.switches.flowlet_gap, microseconds{20});
  EXPECT_EQ(s.back_end.switches.buffer.bytes, 16U << 20U);
  EXPECT_EQ(s.back_end.switches.buffer.pause_at.numerator * 4,
            s.back_end.switches.buffer.pause_at.denominator);
  EXPECT_EQ(s.back_end.switches.marking.per_million, 10'000U);
  EXPECT_TRUE(s.back_end.switches.telemetry);  // required by HPCC
  ASSERT_TRUE(s.front_end);
  EXPECT_EQ(s.front_end->nic_rate, Rate::gigabits(100));
  EXPECT_EQ(s.front_end->switches.buffer.bytes, 9'000'000U);
  EXPECT_EQ(s.front_end_nics.transport, Transport::kRdma);
  EXPECT_TRUE(s.storage->on_front_end);
  EXPECT_EQ(s.nics.mtu, nic::Mtu::k1024);
  EXPECT_EQ(s.nics.recovery, Recovery::kSelectiveRepeat);
  EXPECT_EQ(s.nics.flow_control.hpcc.eta, 900U);
  EXPECT_EQ(s.nics.flow_control.timely.beta, 500U);
  EXPECT_EQ(s.nics.flow_control.ack_every, 1U);
  EXPECT_EQ(s.tcp.algorithm, TcpAlgorithm::kCubic);
  ASSERT_EQ(s.jobs.size(), 3U);
  const auto* training = std::get_if<TrainingSpec>(&s.jobs[0].work);
  ASSERT_NE(training, nullptr);
  EXPECT_EQ(training->model.parameters, 7e9);
  EXPECT_EQ(training->model.bytes_per_value, 1U);
  EXPECT_EQ(training->parallelism.data, 4U);  // 64 ranks / (tensor x pipeline)
  EXPECT_EQ(training->bucket_bytes, 10'000'000U);
  EXPECT_EQ(s.jobs[0].stragglers[0].slowdown, 1.5);
  EXPECT_TRUE(s.jobs[1].on_front_end);  // like the storage
  EXPECT_EQ(s.jobs[1].start, milliseconds{3});
  EXPECT_EQ(std::get_if<FlowsSpec>(&s.jobs[2].work)->file, "folder/flows.txt");
  EXPECT_EQ(s.faults[0].rate, Rate::gigabits(10));
  EXPECT_EQ(s.output.sample_every, microseconds{10});
}

TEST(ScenarioFile, TcpDisablesPfcAndLowersEcnThresholds) {
  const Scenario s = read(kShort, {"nic.transport=tcp", "fabric.nic_rate=100 Gb/s"});
  EXPECT_EQ(s.back_end.switches.buffer.lossless, 0);
  EXPECT_EQ(thresholds_of(s.back_end.switches.marking, Rate::gigabits(100)),
            (MarkingThresholds{300'000, 300'000}));
  EXPECT_GT(s.back_end.switches.longest_packet, s.tcp.mtu);
  EXPECT_NE(
      read(kShort, {"nic.transport=tcp", "fabric.pfc=true"}).back_end.switches.buffer.lossless, 0);
}

TEST(ScenarioFile, ThresholdsOfTheFileAreTheSameAtAllPorts) {
  const auto at_400 = [](const std::vector<std::string>& settings) {
    return thresholds_of(read(kShort, settings).back_end.switches.marking, Rate::gigabits(400));
  };
  EXPECT_EQ(at_400({"fabric.ecn.low=5 KB"}), (MarkingThresholds{5'000, 20'000}));
  EXPECT_EQ(at_400({"fabric.ecn.high=200 KB"}), (MarkingThresholds{50'000, 200'000}));
  EXPECT_EQ(at_400({"fabric.ecn.low=5 KB", "fabric.ecn.high=200 KB"}),
            (MarkingThresholds{5'000, 200'000}));
}

TEST(ScenarioFile, InfiniBandDisablesMarkingAndCongestionControl) {
  const Scenario s = read(kShort, {"fabric.link=infiniband"});
  EXPECT_EQ(s.nics.flow_control.algorithm, nic::CcAlgorithm::kNone);
  EXPECT_FALSE(s.back_end.switches.marking.on);
}

TEST(ScenarioFile, CommandLineOverridesTheFile) {
  const Scenario s =
      read(kShort, {"servers.count=2", "servers.gpus=4", "fabric.routing=spray", "job.0.size=1 MiB",
                    "job.0.iterations=1e3", "nic.dcqcn.hyper_increase=\"1 Gb/s\"", "seed=9"});
  EXPECT_EQ(s.servers.count, 2U);
  EXPECT_EQ(s.servers.nics, 4U);
  EXPECT_EQ(s.back_end.switches.path_choice, PathChoice::kSpray);
  EXPECT_EQ(s.nics.flow_control.dcqcn.hyper_increase, Rate::gigabits(1));
  EXPECT_EQ(s.seed, 9U);
  const auto* work = std::get_if<CollectiveSpec>(&s.jobs[0].work);
  EXPECT_EQ(work->bytes, 1U << 20U);
  EXPECT_EQ(work->iterations, 1000U);
  EXPECT_FALSE(parse_override("no equals sign"));
  EXPECT_FALSE(parse_override("=1"));
}

TEST(ScenarioFile, EveryExampleIsRead) {
  std::size_t examples = 0;
  const std::filesystem::path folder{NERVE_SOURCE_DIR "/examples/scenarios"};
  for (const auto& entry : std::filesystem::directory_iterator{folder}) {
    if (entry.path().extension() != ".toml") continue;
    const std::string text = contents(entry.path());
    const auto scenario = read_scenario(text, entry.path().string());
    EXPECT_TRUE(scenario) << problems(scenario ? std::vector<ScenarioError>{} : scenario.error());
    if (!scenario) continue;
    EXPECT_EQ(text.rfind("# ", 0), 0U) << entry.path() << ": must begin with a comment";
    EXPECT_NE(text.find("# Look at: "), std::string::npos) << entry.path();
    EXPECT_NE(text.find("# Takes: "), std::string::npos) << entry.path();
    EXPECT_FALSE(scenario->description.empty()) << entry.path();
    for (const JobSpec& job : scenario->jobs) {
      const auto* flows = std::get_if<FlowsSpec>(&job.work);
      if (flows == nullptr || flows->file.empty()) continue;
      EXPECT_TRUE(std::filesystem::exists(flows->file)) << flows->file;
    }
    ++examples;
  }
  EXPECT_GE(examples, 12U);
}

}  // namespace nerve::sim
