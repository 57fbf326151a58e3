// Goal: a training step takes its compute time, its bubble, and the communication that is not
// overlapped. Method: jobs on networks so fast or so slow that the time can be computed by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/workload/training/program.h"
#include "tests/sim/fake_cluster.h"
#include "tests/sim/times.h"

namespace nerve::sim::training_job_test {
namespace {

using test::FakeCluster;
using test::FakeNetwork;
using test::seconds;

constexpr FakeNetwork kFree{.places = 0,
                            .rate = Rate::gigabits(1'000'000'000),
                            .latency = {},
                            .interconnect = Rate::gigabits(1'000'000'000),
                            .interconnect_latency = {}};

FakeNetwork with(FakeNetwork network, std::uint32_t places, std::uint32_t per_server) {
  network.places = places;
  network.per_server = per_server;
  return network;
}

// A layer takes 2 x 1e9 x 1000 / 100e12 = 20 ms forward, 40 ms backward.
TrainingSpec small() {
  TrainingSpec work;
  work.model = {.parameters = 8e9, .layers = 8, .hidden = 1024, .sequence = 1000};
  work.micro_batches = 4;
  work.tflops = 100;
  return work;
}

JobSpec job_of(const TrainingSpec& work) {
  JobSpec spec;
  spec.name = "train";
  spec.work = work;
  return spec;
}

JobResult run(const FakeNetwork& network, const JobSpec& spec) {
  FakeCluster cluster{network};
  return run(cluster, spec);
}
JobResult run(const FakeNetwork& network, const TrainingSpec& work) {
  return run(network, job_of(work));
}

std::uint32_t ranks_of(const TrainingSpec& work) {
  return work.parallelism.data * work.parallelism.tensor * work.parallelism.pipeline;
}

}  // namespace

TEST(Training, OneRankOnlyComputes) {
  TrainingSpec work = small();
  work.steps = 3;
  const JobResult result = run(with(kFree, 1, 1), work);
  ASSERT_EQ(result.steps.size(), 3U);
  // 6 x parameters x tokens.
  for (const Duration step : result.steps) {
    EXPECT_NEAR(seconds(step), 6 * 8e9 * 4000 / 100e12, 1e-9);
    EXPECT_EQ(step, result.bound);
  }
  ASSERT_EQ(result.ranks.size(), 1U);
  EXPECT_EQ(result.ranks[0].exposed, 0U);
  EXPECT_EQ(result.ranks[0].compute, (result.end - result.start).count());
  EXPECT_EQ(result.bytes_moved, 0U);
}

TEST(Training, TheBubbleIsThatOf1F1B) {
  for (const std::uint32_t stages : {1U, 2U, 4U, 8U}) {
    for (const std::uint32_t batches : {1U, 2U, 4U, 16U}) {
      TrainingSpec work = small();
      work.parallelism.pipeline = stages;
      work.micro_batches = batches;
      const JobResult result = run(with(kFree, stages, 1), work);
      const double of_batch = 8 * 0.06 / stages;
      EXPECT_NEAR(seconds(result.steps[0]), (batches + stages - 1) * of_batch, 1e-4)
          << stages << " stages, " << batches << " micro batches";
      EXPECT_NEAR(seconds(result.bound), (batches + stages - 1) * of_batch, 1e-9);
      // All time that is not compute is the bubble.
      for (const RankTime& rank : result.ranks) {
        EXPECT_NEAR(static_cast<double>(rank.compute) / 1e12, batches * of_batch, 1e-9);
      }
    }
  }
}

TEST(Training, EveryParallelismCompletes) {
  for (const std::uint32_t data : {1U, 2U, 4U}) {
    for (const std::uint32_t tensor : {1U, 2U, 4U}) {
      for (const std::uint32_t pipeline : {1U, 2U, 3U}) {
        for (const std::uint32_t expert : {1U, 2U, 4U}) {
          if (data % expert != 0) continue;
          TrainingSpec work = small();
          work.parallelism = {data, tensor, pipeline, expert};
          work.model.experts = expert > 1 ? 8 : 0;
          work.steps = 2;
          work.shard_optimizer = data == 4;
          FakeNetwork network{.places = ranks_of(work), .per_server = tensor, .jitter = 1'000'000};
          const JobResult result = run(network, work);
          EXPECT_EQ(result.steps.size(), 2U);
          for (const Duration step : result.steps) EXPECT_GE(step, result.bound);
          for (const RankTime& rank : result.ranks) {
            EXPECT_LE(rank.compute + rank.exposed,
                      static_cast<std::uint64_t>((result.end - result.start).count()));
          }
        }
      }
    }
  }
}

TEST(Training, TensorParallelismMovesItsActivations) {
  TrainingSpec work = small();
  work.parallelism.tensor = 4;
  const JobResult result = run({.places = 4, .per_server = 4}, work);
  // 4 all-reduces per layer and micro-batch, of sequence x hidden x 2 bytes, each 2 S (N - 1).
  const std::uint64_t activations = 1000 * 1024 * 2;
  EXPECT_EQ(result.bytes_moved, 4U * 8 * 4 * 2 * activations * 3);
}

TEST(Training, PipelinesMoveActivationsAndGradients) {
  TrainingSpec work = small();
  work.parallelism.pipeline = 4;
  const JobResult result = run({.places = 4}, work);
  EXPECT_EQ(result.bytes_moved, 2U * 3 * 4 * 1000 * 1024 * 2);
}

TEST(Training, GradientsAreReducedOnce) {
  TrainingSpec work = small();
  work.parallelism.data = 4;
  for (const bool overlap : {false, true}) {
    for (const bool shard : {false, true}) {
      for (const std::uint64_t bucket : {10'000'019U, 25'000'000U, 4'000'000'000U}) {
        work.overlap = overlap;
        work.shard_optimizer = shard;
        work.bucket_bytes = bucket;
        // 16 GB of gradients, 2 S (N - 1) bytes in total, for any bucket size.
        EXPECT_EQ(run({.places = 4}, work).bytes_moved, 2U * 16'000'000'000 * 3);
      }
    }
  }
}

TEST(Training, OverlapHidesTheGradients) {
  TrainingSpec work = small();
  work.parallelism.data = 8;
  for (const std::uint64_t gigabits : {100U, 400U, 3200U}) {
    const FakeNetwork network{
        .places = 8, .rate = Rate::gigabits(gigabits), .latency = std::chrono::nanoseconds{100}};
    work.bucket_bytes = 100'000'000;
    work.overlap = false;
    const JobResult apart = run(network, work);
    work.overlap = true;
    const JobResult together = run(network, work);
    EXPECT_LT(together.steps[0], apart.steps[0]) << gigabits;
    const double gradients = 2 * 16e9 * 7 / 8 / (static_cast<double>(gigabits) * 1e9 / 8);
    EXPECT_NEAR(seconds(apart.steps[0]), seconds(apart.bound) + gradients, gradients * 0.02);
    // Overlap hides no more than the backward time.
    EXPECT_GE(seconds(together.steps[0]), seconds(apart.steps[0]) - 8 * 0.04);
    EXPECT_LT(together.ranks[0].exposed, apart.ranks[0].exposed);
  }
}

TEST(Training, OverlapIsNeverSlower) {
  for (const std::uint32_t data : {2U, 3U, 8U}) {
    for (const std::uint32_t tensor : {1U, 2U}) {
      for (const std::uint64_t bucket : {30'000'000U, 1'000'000'000U, 3'000'000'000U}) {
        for (const bool shard : {false, true}) {
          TrainingSpec work = small();
          work.parallelism = {.data = data, .tensor = tensor};
          work.bucket_bytes = bucket;
          work.shard_optimizer = shard;
          const FakeNetwork network{.places = ranks_of(work), .per_server = tensor};
          work.overlap = false;
          const Duration apart = run(network, work).steps[0];
          work.overlap = true;
          EXPECT_LE(run(network, work).steps[0], apart)
              << data << " x " << tensor << ", " << bucket;
        }
      }
    }
  }
}

TEST(Training, ExpertsExchangeTokens) {
  TrainingSpec work = small();
  work.parallelism = {.data = 8, .expert = 4};
  work.model.experts = 16;
  work.model.experts_per_token = 2;
  work.bucket_bytes = 1'000'000'000;
  const JobResult result = run({.places = 8, .per_server = 4}, work);
  // Four all-to-alls per layer and micro-batch, each of 2 x sequence x hidden x 2 bytes per rank.
  const std::uint64_t dispatched = 2 * 1000 * 1024 * 2;
  const std::uint64_t tokens = 4U * 8 * 4 * 2 * dispatched * 3;
  const std::uint64_t dense = 8U * 4 * 1024 * 1024 * 2;
  const std::uint64_t experts = (16'000'000'000 - dense) / 4;
  EXPECT_EQ(result.bytes_moved, tokens + 2 * dense * 7 + 4 * (2 * experts * 1));
}

TEST(Training, StragglerDelaysAllRanks) {
  TrainingSpec work = small();
  work.parallelism.data = 4;
  JobSpec spec = job_of(work);
  const JobResult even = run(with(kFree, 4, 1), spec);
  spec.stragglers.push_back({.rank = 2, .slowdown = 1.5});
  const JobResult held = run(with(kFree, 4, 1), spec);
  EXPECT_NEAR(seconds(held.steps[0]), 1.5 * seconds(even.steps[0]), 1e-4);
  EXPECT_EQ(held.bound, even.bound * 3 / 2);
  EXPECT_GT(held.ranks[0].exposed, held.ranks[2].exposed);
  EXPECT_EQ(held.ranks[2].compute, even.ranks[2].compute * 3 / 2);
}

TEST(Training, IsDeterministic) {
  TrainingSpec work = small();
  work.parallelism = {.data = 2, .tensor = 2, .pipeline = 2};
  work.steps = 3;
  const FakeNetwork network{.places = 8, .per_server = 4, .jitter = 9'000'000};
  EXPECT_EQ(run(network, work).steps, run(network, work).steps);
}

// Values of one machine, which every machine and build must reproduce.
TEST(Training, IsTheSameOnEveryMachine) {
  TrainingSpec work = small();
  work.model.parameters = 7.3e9;
  work.tflops = 371.3;
  work.parallelism = {.data = 4, .tensor = 2, .pipeline = 2, .expert = 2};
  work.model.experts = 8;
  JobSpec spec = job_of(work);
  spec.stragglers.push_back({.rank = 5, .slowdown = 1.07});
  const FakeNetwork network{.places = 16, .per_server = 4, .jitter = 9'000'000};
  const JobResult result = run(network, spec);
  EXPECT_EQ(result.steps[0].count(), 75'081'477'707);
  EXPECT_EQ(result.ranks[5].compute, 31'990'478'288U);
  EXPECT_EQ(result.bytes_moved, 33'793'811'456U);
}

TEST(Training, AdjacentStagesAgreeOnTheirMessages) {
  TrainingSpec work = small();
  work.parallelism = {.data = 2, .tensor = 2, .pipeline = 3};
  work.micro_batches = 5;
  const auto started = [&](std::uint32_t stage, Channel channel) {
    const Program program = program_of_stage(work, stage);
    EXPECT_LE(static_cast<double>(program.size()), most_instructions(work));
    return std::ranges::count_if(program, [&](const Instruction& one) {
      return one.kind == Instruction::Kind::kStart && one.channel == channel;
    });
  };
  for (std::uint32_t stage = 0; stage < 2; ++stage) {
    EXPECT_EQ(started(stage, Channel::kActivationsOut), 5);
    EXPECT_EQ(started(stage + 1, Channel::kActivationsIn), 5);
    EXPECT_EQ(started(stage, Channel::kGradientsIn), 5);
    EXPECT_EQ(started(stage + 1, Channel::kGradientsOut), 5);
  }
  EXPECT_EQ(started(0, Channel::kActivationsIn), 0);
  EXPECT_EQ(started(2, Channel::kActivationsOut), 0);
}

TEST(Training, RejectsImpossibleJobsWithAReason) {
  const auto refused = [](std::uint32_t ranks, const TrainingSpec& work,
                          std::vector<Straggler> stragglers = {}) {
    FakeCluster cluster{{.places = ranks, .per_server = 8}};
    JobSpec spec = job_of(work);
    spec.stragglers = std::move(stragglers);
    const auto job = make_job(spec, cluster.context());
    return job ? std::string{"was made"} : job.error();
  };
  TrainingSpec work = small();
  work.parallelism = {.data = 4, .tensor = 8, .pipeline = 2};
  EXPECT_EQ(refused(48, work),
            "job train: data 4 x tensor 8 x pipeline 2 = 64 ranks, but the job has 48");
  EXPECT_EQ(refused(64, work), "was made");
  EXPECT_EQ(refused(64, work, {{.rank = 64, .slowdown = 2}}),
            "job train: straggler 64 is none of the ranks 0 to 63");
  EXPECT_EQ(refused(64, work, {{.rank = 6, .slowdown = 0}}),
            "job train: the slowdown of straggler 6 is 0, expected more than 0 and at most 1000");

  const auto changed = [&](auto change) {
    TrainingSpec other = work;
    change(other);
    return refused(64, other);
  };
  EXPECT_EQ(changed([](TrainingSpec& w) { w.model.layers = 1; }),
            "job train: pipeline is 2, but the model has 1 layers");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.model.hidden = 0; }),
            "job train: hidden is 0, expected 1 to 10000000");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.micro_batches = 0; }),
            "job train: micro_batches is 0, expected 1 to 1000000");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.bucket_bytes = 0; }),
            "job train: bucket_bytes is 0, expected 1 to 1125899906842624");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.model.parameters = std::nan(""); }),
            "job train: parameters is nan, expected 1 to 1e16");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.tflops = 0; }),
            "job train: tflops is 0, expected more than 0 and at most 1e9");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.tflops = 1e-9; }),
            "job train: tflops is 1e-09: a layer would take more than 1000 seconds");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.parallelism.expert = 3; }),
            "job train: expert is 3, which does not divide data 4");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.parallelism.expert = 2; }),
            "job train: expert is 2, but the model has no experts");
  EXPECT_EQ(changed([](TrainingSpec& w) {
              w.parallelism.expert = 4;
              w.model.experts = 6;
            }),
            "job train: expert is 4, which does not divide the 6 experts");
  EXPECT_EQ(changed([](TrainingSpec& w) {
              w.model.experts = 6;
              w.model.experts_per_token = 7;
            }),
            "job train: experts_per_token is 7, expected 1 to 6");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.bucket_bytes = 1; }),
            "job train: 4 micro batches of 4 layers and buckets of 1 B are more than a stage's "
            "program can hold");
  EXPECT_EQ(changed([](TrainingSpec& w) {
              w.model.sequence = 1'000'000'000;
              w.sequences_per_batch = 1000;
            }),
            "job train: a layer would send 2.05 PB at once, the limit is 1 PB");
  EXPECT_EQ(changed([](TrainingSpec& w) { w.algorithm = CollectiveAlgorithm::kDirect; }),
            "job train: gradients: there is no direct all-reduce");
  EXPECT_EQ(changed([](TrainingSpec& w) {
              w.algorithm = CollectiveAlgorithm::kTree;
              w.shard_optimizer = true;
            }),
            "job train: gradients: there is no tree reduce-scatter");
}

}  // namespace nerve::sim::training_job_test
