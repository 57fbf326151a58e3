// Goal: workload files of SimAI are read field by field or rejected with the line, and run in the
// order of SimAI, in its groups. Method: small files; jobs on a network whose times can be worked
// out by hand.
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/workload/simai/simai_program.h"
#include "tests/sim/fake_cluster.h"

namespace nerve::sim::simai_test {
namespace {

using std::chrono::nanoseconds;
using test::FakeCluster;
using test::FakeNetwork;

constexpr std::string_view kTransformer =
    "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 8 ga: 1 "
    "all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0\n";

std::string with(std::string_view first, std::initializer_list<std::string_view> layers) {
  std::string text = std::string{first} + std::to_string(layers.size()) + "\n";
  for (const std::string_view layer : layers) text += std::string{layer} + "\n";
  return text;
}

SimaiWorkload parsed(const std::string& text) {
  auto workload = parse_simai(text, "w");
  EXPECT_TRUE(workload) << workload.error();
  return workload ? *std::move(workload) : SimaiWorkload{};
}

std::string why(std::string_view text) {
  const auto workload = parse_simai(text, "w");
  return workload ? "was read" : workload.error();
}

JobSpec job_of(const std::string& text) {
  const std::string file = testing::TempDir() + "nerve_simai_" +
                           testing::UnitTest::GetInstance()->current_test_info()->name() + ".txt";
  std::ofstream{file} << text;
  JobSpec spec;
  spec.name = "s";
  spec.work = SimaiSpec{.file = file};
  return spec;
}

JobResult run(const FakeNetwork& network, const std::string& text) {
  FakeCluster cluster{network};
  return run(cluster, job_of(text));
}

// A ring all-reduce of 1 MB by two ranks sends half of it twice, at 50 GB/s with 2 us of latency;
// the last acknowledgement takes another 2 us.
constexpr FakeNetwork kTwo{.places = 2};
constexpr nanoseconds kAllReduce{20'000 + 3 * 2'000};

}  // namespace

TEST(SimaiFile, IsReadFieldByField) {
  const SimaiWorkload read =
      parsed(with(kTransformer, {"attention\t-1\t752000\tALLREDUCE\t20971520\t753000\tALLGATHER_DP"
                                 "\t11\t754000\tREDUCESCATTER\t22\t100",
                                 "",
                                 "  moe -1 1 ALLTOALL_EP 33   2 BROADCAST 44 3 ALLREDUCE_DP_EP 55 "
                                 "7\r",
                                 "none -1 4 NONE 66 5 ALLREDUCE 0 6 NONE 0 0"})
                 .replace(kTransformer.size(), 1, "3"));
  EXPECT_EQ(read.policy, SimaiPolicy::kTransformer);
  EXPECT_EQ(read.tensor, 2U);
  EXPECT_EQ(read.expert, 2U);
  EXPECT_EQ(read.ranks, 8U);
  ASSERT_EQ(read.layers.size(), 3U);
  using enum CollectiveKind;
  EXPECT_EQ(read.layers[0],
            (SimaiLayer{.forward = {752'000, {{kAllReduce, SimaiGroup::kTensor, 20'971'520}}},
                        .input_gradient = {753'000, {{kAllGather, SimaiGroup::kData, 11}}},
                        .weight_gradient = {754'000, {{kReduceScatter, SimaiGroup::kData, 22}}},
                        .process_ns = 100}));
  EXPECT_EQ(read.layers[1],
            (SimaiLayer{.forward = {1, {{kAllToAll, SimaiGroup::kExpert, 33}}},
                        .input_gradient = {2, {{kBroadcast, SimaiGroup::kTensor, 44}}},
                        .weight_gradient = {3, {{kAllReduce, SimaiGroup::kExpertData, 55}}},
                        .process_ns = 7}));
  // Nothing is sent without a collective or without bytes.
  EXPECT_EQ(
      read.layers[2],
      (SimaiLayer{.forward = {4, {}}, .input_gradient = {5, {}}, .weight_gradient = {6, {}}}));
}

TEST(SimaiFile, OldAndNewFirstLinesAreRead) {
  constexpr std::string_view kLayer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
  for (const std::string_view first :
       {"HYBRID_TRANSFORMER model_parallel_NPU_group: 8\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: 8 checkpoints: 0 "
        "checkpoint_initiates: 0\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8   expert_parallel_npu_group: "
        "4 "
        "pp: 1 ga: 3 all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0\n",
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 4 pp: 1 vpp: 8 ga: 3 "
        "all_gpus: 64 checkpoints: 0 checkpoint_initiates: 0 pp_comm: 0.0\n"}) {
    EXPECT_EQ(parsed(with(first, {kLayer})).tensor, 8U) << first;
  }
  for (const auto& [first, policy] :
       {std::pair{"DATA\n", SimaiPolicy::kData}, std::pair{"MODEL\n", SimaiPolicy::kModel},
        std::pair{"DISTRIBUTED_INFERENCE\n", SimaiPolicy::kInference},
        std::pair{"MICRO\n", SimaiPolicy::kMicro}}) {
    EXPECT_EQ(parsed(with(first, {kLayer})).policy, policy);
  }
}

TEST(SimaiFile, ErrorsOfTheFirstLinesHaveTheLine) {
  EXPECT_EQ(why(""), "w:1: the file is empty, expected the policy and the parallelism");
  EXPECT_EQ(why("\n\nhello\n"),
            "w:3: the policy is hello, expected HYBRID_TRANSFORMER_FWD_IN_BCKWD, "
            "HYBRID_TRANSFORMER, DATA, MODEL, DISTRIBUTED_INFERENCE or MICRO");
  EXPECT_EQ(why("HYBRID_DLRM DLRM_LAST_BOTTOM_LAYER: 3\n"),
            "w:1: the policy HYBRID_DLRM is not supported; its groups depend on ASTRA-sim's "
            "dimensions");
  EXPECT_EQ(why("HYBRID_TRANSFORMER\n"), "w:1: model_parallel_NPU_group is missing");
  EXPECT_EQ(why("HYBRID_TRANSFORMER model_parallel_NPU_group:\n"),
            "w:1: model_parallel_NPU_group is missing");
  EXPECT_EQ(why("HYBRID_TRANSFORMER model_parallel_NPU_group: 0\n"),
            "w:1: model_parallel_NPU_group is 0, expected a whole number from 1 to 1048576");
  EXPECT_EQ(why("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 ep: 2 ep: 2\n"),
            "w:1: ep is there twice");
  EXPECT_EQ(why("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 cp: 2\n"),
            "w:1: unknown word cp; expected model_parallel_NPU_group, ep, pp, vpp, ga, all_gpus, "
            "checkpoints, checkpoint_initiates or pp_comm");
  EXPECT_EQ(why("MICRO all_gpus: 8\n"),
            "w:1: unknown word all_gpus; this policy has no parallelism of its own");
  EXPECT_TRUE(why("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 pp: 2\n")
                  .starts_with("w:1: pp is 2: the file has the layers of one stage"));
  EXPECT_EQ(why("HYBRID_TRANSFORMER model_parallel_NPU_group: 8 pp_comm: 1048576.0\n"),
            "w:1: pp_comm is 1048576.0, expected 0: pipelines are not supported");
  EXPECT_EQ(why("MICRO\n"), "w:1: the number of layers is missing");
  EXPECT_EQ(why("MICRO\nsome\n"),
            "w:2: number of layers is some, expected a whole number from 1 to 1000000");
  EXPECT_EQ(why("MICRO\n1000001\n"),
            "w:2: number of layers is 1000001, expected a whole number from 1 to 1000000");
  EXPECT_EQ(why("MICRO\n1 2\n"),
            "w:2: 2 words, expected the number of layers alone on the second line");
}

TEST(SimaiFile, ErrorsOfLayersHaveTheLine) {
  const auto layer = [](std::string_view line) { return why("MICRO\n1\n" + std::string{line}); };
  EXPECT_TRUE(layer("m -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096\n")
                  .starts_with("w:3: 11 words, expected 12: name, -1, then time"));
  EXPECT_TRUE(
      layer("m -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1 DATA\n").starts_with("w:3: 13 words"));
  EXPECT_EQ(layer("m 0 1 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n"),
            "w:3: dependency is 0, expected -1: layers run in their order");
  EXPECT_EQ(layer("m -1 1.5 NONE 0 1 NONE 0 1 ALLREDUCE 4096 1\n"),
            "w:3: forward time is 1.5, expected a whole number from 0 to 1000000000000");
  EXPECT_EQ(layer("m -1 1 NONE 0 -1 NONE 0 1 ALLREDUCE 4096 1\n"),
            "w:3: input gradient time is -1, expected a whole number from 0 to 1000000000000");
  EXPECT_EQ(layer("m -1 1 NONE 0 1 NONE 0 1 ALLREDUCE x 1\n"),
            "w:3: weight gradient bytes is x, expected a whole number from 0 to 1125899906842624");
  EXPECT_EQ(layer("m -1 1 NONE 0 1 NONE 0 1 REDUCE 4096 1\n"),
            "w:3: weight gradient collective is REDUCE, expected NONE, ALLREDUCE, ALLGATHER, "
            "REDUCESCATTER, ALLTOALL or BROADCAST, with _EP, _DP, _DP_EP or nothing after it");
  EXPECT_EQ(layer("m -1 1 NONE 0 1 NONE 0 1 ALLREDUCEALLTOALL 4096 1\n"),
            "w:3: weight gradient collective is ALLREDUCEALLTOALL, expected ALLREDUCE alone or "
            "with _EP, _DP or _DP_EP");
  EXPECT_EQ(layer("m -1 1 NONE 0 1 NONE 0 1 ALLTOALL_EP 4096 1\n"),
            "w:3: weight gradient collective is ALLTOALL_EP, expected ALLTOALL: the first line has "
            "no ep");
  EXPECT_EQ(layer("m -1 1 NONE 0 1 NONE 0 1 NONE 0 9999999999\n"),
            "w:3: process time is 9999999999, expected a whole number from 0 to 1000000000");
  EXPECT_EQ(layer("m -1 1 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"),
            "w:3: a collective of activations, but with this policy only weight gradients have "
            "one");
  EXPECT_EQ(layer(""), "w:2: 0 layers, but the second line announces 1");
  EXPECT_EQ(layer("m -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n\nm -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"),
            "w:5: more layers than the 1 of the second line");
  EXPECT_EQ(why("MICRO\n1\n" + std::string(70'000, 'x')),
            "w:3: a line of 70000 bytes, the limit is 65536");
}

TEST(SimaiFile, RecomputationNeedsACheckpointBefore) {
  constexpr std::string_view kLayer = "a -1 1 NONE 0 1 NONE 0 1 NONE 0 1";
  const auto first = [&](std::string_view lists, std::string_view policy) {
    return why(
        with(std::string{policy} + " model_parallel_NPU_group: 1 " + std::string{lists} + "\n",
             {kLayer, kLayer, kLayer}));
  };
  constexpr std::string_view kPolicy = "HYBRID_TRANSFORMER_FWD_IN_BCKWD";
  EXPECT_EQ(first("checkpoints: 1 1 checkpoint_initiates: 1 2", kPolicy), "was read");
  EXPECT_EQ(first("checkpoints: 1 1 checkpoint_initiates: 1 1", kPolicy),
            "w:1: checkpoint_initiates has layer 1, but no checkpoint is before it");
  EXPECT_EQ(first("checkpoints: 1 3 checkpoint_initiates: 0", kPolicy),
            "w:1: checkpoints has layer 3, but there are 3, counted from 0");
  EXPECT_EQ(first("checkpoints: 3 0 1", kPolicy),
            "w:1: checkpoints announces 3 layers, but 2 words follow");
  EXPECT_EQ(first("checkpoints: 1 0", "HYBRID_TRANSFORMER"),
            "w:1: checkpoints: only HYBRID_TRANSFORMER_FWD_IN_BCKWD recomputes layers");
}

TEST(SimaiJob, TakesItsComputeAndItsAllReduce) {
  const JobResult result = run(kTwo, with("HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n",
                                          {"a -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 ALLREDUCE "
                                           "1000000 100"}));
  // The data-parallel group has one rank and sends nothing.
  ASSERT_EQ(result.steps.size(), 1U);
  EXPECT_EQ(result.steps[0], nanoseconds{1000 + 100 + 2000 + 3000} + kAllReduce);
  EXPECT_EQ(result.bound, nanoseconds{6100});
  EXPECT_EQ(result.bytes_moved, 2'000'000U);
  EXPECT_EQ(result.ranks[0].compute, 6'100'000U);
  EXPECT_EQ(Duration(static_cast<std::int64_t>(result.ranks[0].exposed)), kAllReduce);
  EXPECT_EQ(result.work, "SimAI workload of 1 layer, data 1 x tensor 2");
}

TEST(SimaiJob, PassesFollowEachOther) {
  JobSpec spec = job_of(with("HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n",
                             {"a -1 1000 ALLREDUCE 1000000 0 NONE 0 0 NONE 0 0"}));
  std::get<SimaiSpec>(spec.work).steps = 3;
  FakeCluster cluster{kTwo};
  const JobResult result = run(cluster, spec);
  ASSERT_EQ(result.steps.size(), 3U);
  for (const Duration step : result.steps) EXPECT_EQ(step, nanoseconds{1000} + kAllReduce);
}

TEST(SimaiJob, DataParallelGradientsTravelDuringTheBackwardPass) {
  const JobResult result = run(kTwo, with("DATA\n", {"a -1 1000 NONE 0 5000 NONE 0 2000 ALLREDUCE "
                                                     "1000000 100",
                                                     "b -1 1000 NONE 0 40000 NONE 0 2000 ALLREDUCE "
                                                     "1000000 100"}));
  // The first layer has no input gradient; the all-reduce of the second one is hidden behind
  // 40 us of compute.
  EXPECT_EQ(result.steps[0], nanoseconds{2000 + 2000 + 40'000 + 2000 + 100} + kAllReduce);
}

TEST(SimaiJob, ModelParallelGradientsTravelDuringTheWeightGradient) {
  const JobResult result =
      run(kTwo, with("MODEL\n", {"a -1 1000 ALLREDUCE 1000000 500 ALLREDUCE "
                                 "1000000 600 NONE 0 100",
                                 "b -1 1000 NONE 0 500 ALLREDUCE 1000000 30000 "
                                 "NONE 0 100"}));
  // Forward: both layers and one all-reduce. Backward: that of the second layer is hidden, the
  // first layer sends none.
  EXPECT_EQ(result.steps[0], nanoseconds{2000 + 100 + 500 + 30'000 + 100 + 500 + 600} + kAllReduce);
}

TEST(SimaiJob, InferenceRunsForwardAndMicroTheCollectivesAlone) {
  EXPECT_EQ(run(kTwo, with("DISTRIBUTED_INFERENCE\n",
                           {"a -1 1000 ALLREDUCE 1000000 500 NONE 0 600 NONE 0 100"}))
                .steps[0],
            nanoseconds{1100} + kAllReduce);
  EXPECT_EQ(run(kTwo, with("MICRO\n", {"a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000000 1",
                                       "a -1 1 NONE 0 1 NONE 0 1 ALLREDUCE 1000000 1"}))
                .steps[0],
            2 * (nanoseconds{1} + kAllReduce));
}

TEST(SimaiJob, RecomputesFromTheLastCheckpoint) {
  const JobResult result = run(
      kTwo, with("HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 checkpoints: 2 0 1 "
                 "checkpoint_initiates: 1 3\n",
                 {"a -1 1 NONE 0 0 NONE 0 0 NONE 0 0",
                  "b -1 10 ALLREDUCE 1000000 0 NONE 0 0 "
                  "NONE 0 0",
                  "c -1 100 NONE 0 0 NONE 0 0 NONE 0 0", "d -1 1000 NONE 0 0 NONE 0 0 NONE 0 0"}));
  EXPECT_EQ(result.steps[0], nanoseconds{1111 + 110} + 2 * kAllReduce);
}

// Tensor parallelism innermost, then experts.
TEST(SimaiJob, GroupsAreThoseOfSimai) {
  using Pairs = std::set<std::pair<std::uint32_t, std::uint32_t>>;
  const auto pairs = [](std::string_view collective) {
    FakeCluster cluster{{.places = 8}};
    run(cluster, job_of(with(kTransformer,
                             {"a -1 0 " + std::string{collective} + " 1000 0 NONE 0 0 NONE 0 0"})));
    Pairs all;
    for (const Message& message : cluster.sent()) {
      all.emplace(message.from.value(), message.to.value());
    }
    return all;
  };
  EXPECT_EQ(pairs("ALLTOALL"),
            (Pairs{{0, 1}, {1, 0}, {2, 3}, {3, 2}, {4, 5}, {5, 4}, {6, 7}, {7, 6}}));
  EXPECT_EQ(pairs("ALLTOALL_EP"),
            (Pairs{{0, 2}, {2, 0}, {1, 3}, {3, 1}, {4, 6}, {6, 4}, {5, 7}, {7, 5}}));
  EXPECT_EQ(pairs("ALLTOALL_DP_EP"),
            (Pairs{{0, 4}, {4, 0}, {1, 5}, {5, 1}, {2, 6}, {6, 2}, {3, 7}, {7, 3}}));
  EXPECT_EQ(pairs("ALLTOALL_DP").size(), 2U * 4 * 3);
}

TEST(SimaiJob, StragglerIsSlow) {
  JobSpec spec = job_of(with("HYBRID_TRANSFORMER model_parallel_NPU_group: 2\n",
                             {"a -1 1000 ALLREDUCE 1000000 2000 NONE 0 3000 NONE 0 0"}));
  spec.stragglers.push_back({.rank = 1, .slowdown = 3});
  FakeCluster cluster{kTwo};
  const JobResult result = run(cluster, spec);
  // The other rank began earlier, so the straggler need not wait for its last acknowledgement.
  EXPECT_EQ(result.steps[0], nanoseconds{3 * 6000 - 2000} + kAllReduce);
  EXPECT_EQ(result.bound, nanoseconds{3 * 6000});
}

TEST(SimaiJob, RejectsWorkloadsThatDoNotFitTheJob) {
  const auto refused = [](std::uint32_t places, const std::string& text) {
    FakeCluster cluster{{.places = places}};
    const JobSpec spec = job_of(text);
    const auto job = make_job(spec, cluster.context());
    std::string error = job ? "was made" : job.error();
    const std::string& file = std::get<SimaiSpec>(spec.work).file;
    if (const auto at = error.find(file); at != std::string::npos) error.erase(at, file.size());
    return error;
  };
  constexpr std::string_view kLayer = "a -1 1000000000000 NONE 0 1 NONE 0 1 ALLTOALL 9 1";
  EXPECT_EQ(refused(4, with(kTransformer, {kLayer})),
            "job s: :1: all_gpus is 8, but the job has 4 ranks");
  EXPECT_EQ(refused(4, with("HYBRID_TRANSFORMER model_parallel_NPU_group: 3\n", {kLayer})),
            "job s: :1: model_parallel_NPU_group is 3, which does not divide the 4 ranks of the "
            "job");
  EXPECT_EQ(refused(4, with("HYBRID_TRANSFORMER model_parallel_NPU_group: 2 ep: 4\n", {kLayer})),
            "job s: :1: ep is 4, which does not divide the 2 data-parallel ranks of the job");
  EXPECT_EQ(refused(4, with("DATA\n", {kLayer, kLayer, kLayer, kLayer})),
            "job s: : a pass computes for more than an hour, or recomputes too many layers");
  EXPECT_EQ(refused(4, "MICRO\n"), "job s: :1: the number of layers is missing");
}

TEST(SimaiJob, RunsInAScenario) {
  const std::string toml = R"(
[servers]
count = 2
gpus = 4
[fabric]
topology = "rail-optimised"
[[job]]
kind = "simai"
file = ")" NERVE_SOURCE_DIR R"(/fuzz/corpus/simai/moe"
steps = 2
)";
  const auto scenario = read_scenario(toml, "x.toml", {});
  ASSERT_TRUE(scenario) << text_of(scenario.error()[0]);
  EXPECT_GT(memory_needed(*scenario), 0U);
  for (const Fidelity fidelity : {Fidelity::kPacket, Fidelity::kFlow}) {
    Scenario one = *scenario;
    one.fidelity = fidelity;
    const auto result = sim::run(one);
    ASSERT_TRUE(result) << result.error();
    const JobResult& job = result->jobs[0];
    EXPECT_TRUE(job.done) << job.trouble;
    EXPECT_EQ(job.steps.size(), 2U);
    EXPECT_GT(job.steps[0], job.bound);
    // Per pass, by eight ranks: 2 all-reduces of pairs, 4 all-to-alls of pairs (which send half),
    // gather and reduction of four ranks, an all-reduce of pairs.
    EXPECT_EQ(job.bytes_moved,
              2U * (8 * 2 * 200'000 + 8 * 4 * 50'000 + 8 * (100'000 + 200'000) * 3 + 8 * 300'000));
  }
}

}  // namespace nerve::sim::simai_test
