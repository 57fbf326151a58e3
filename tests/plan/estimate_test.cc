// Goal: what is left out to save time changes little: layers that are extrapolated, finalists that
// are scaled down.
#include "sim/plan/estimate.h"

#include <gtest/gtest.h>

#include "sim/plan/parallelism.h"
#include "sim/plan/plan_file.h"
#include "sim/plan/shrink.h"
#include "sim/run.h"
#include "tests/plan/worked.h"

namespace nerve::sim::plan {
namespace {

std::string training_plan(const std::string& own) {
  return "[plan]\ngpus = 32\nfinalists = 1\nseeds = 1\n" + own +
         "[vary]\nnetwork = \"roce\"\ntopology = \"rail-optimised\"\nswitch_ports = 32\n"
         "oversubscription = 1\n[[job]]\nkind = \"training\"\nmicro_batches = 2\n"
         "bucket = \"10 MB\"\n[job.model]\nparameters = 400e6\nlayers = 16\nhidden = 1024\n"
         "sequence = 1024\n";
}

Figures figures_with(const Scenario& scenario) {
  const auto result = sim::run(scenario);
  EXPECT_TRUE(result);
  return result ? figures_of(*result) : Figures{};
}

}  // namespace

TEST(PlanEstimate, LayersFollowALine) {
  const Study study = study_of(training_plan("") + "[job.parallelism]\ntensor = 4\n");
  const Option& option = study.options.front();
  ASSERT_EQ(option.state, State::kWaiting) << option.reason;
  const EstimateRuns estimate = estimate_runs(study, option);
  ASSERT_EQ(estimate.runs.size(), 2U);
  std::vector<Figures> runs;
  for (const EstimateRun& one : estimate.runs) runs.push_back(figures_with(one.scenario));
  const Figures line = extrapolated(estimate, runs);
  const Figures whole = figures_with(estimate_scenario(study, option));
  EXPECT_NEAR(line.seconds / whole.seconds, 1, 0.05);
  EXPECT_NEAR(line.bound_seconds / whole.bound_seconds, 1, 0.01);
  EXPECT_NEAR(line.link_bytes / whole.link_bytes, 1, 0.02);
  EXPECT_NEAR(line.idle, whole.idle, 0.05);
}

TEST(PlanEstimate, OtherJobsAreRunWhole) {
  const Study study = study_of(
      "[plan]\ngpus = 16\n[vary]\ntopology = \"rail-only\"\n[[job]]\nkind = \"all-reduce\"\n"
      "size = \"1 MB\"\n");
  const EstimateRuns estimate = estimate_runs(study, study.options.front());
  ASSERT_EQ(estimate.runs.size(), 1U);
  EXPECT_EQ(estimate.runs.front().scenario.fidelity, Fidelity::kFlow);
}

TEST(PlanEstimate, LargeFinalistsAreScaledDownAndSayHow) {
  const Worked worked = worked_out(training_plan("packets = 20000\n"));
  ASSERT_NE(worked.conclusion.best, 0U);
  const Option& best = worked.best();
  EXPECT_EQ(best.state, State::kScaled);
  EXPECT_NE(best.scaled.find("instead of"), std::string::npos) << best.scaled;
  ASSERT_EQ(best.packets.size(), 1U);
  EXPECT_LT(best.packets.front().data_packets, 40'000U);
  // Nothing collides on the rails of this network: packets need no more than flows.
  EXPECT_NEAR(best.seconds / best.flow->seconds, 1, 0.15);
}

TEST(PlanEstimate, WhatCannotBeScaledStaysWithFlowsAndSaysSo) {
  const Worked worked = worked_out(
      "[plan]\ngpus = 16\nfinalists = 1\npackets = 1000\n[vary]\nnetwork = \"roce\"\n"
      "topology = \"rail-only\"\nswitch_ports = 32\n[[job]]\nkind = \"random\"\nsize = \"4 MB\"\n"
      "requests = 4000\n");
  ASSERT_NE(worked.conclusion.best, 0U);
  EXPECT_EQ(worked.best().state, State::kEstimated);
  EXPECT_NE(worked.best().remark.find("stays with flows"), std::string::npos);
}

TEST(PlanParallelism, ChoosesWhatFitsAndIsFast) {
  const Study study = study_of(training_plan("parallelism = \"choose\"\nbatch = 64\n"));
  const Option& option = study.options.front();
  ASSERT_EQ(option.state, State::kWaiting) << option.reason;
  ASSERT_TRUE(option.candidate.parallelism);
  EXPECT_GE(option.candidate.parallelism->tensor, 1U);
  // It is no slower than data parallelism alone, of the same 64 sequences.
  const Study plain = study_of(training_plan(""));
  EXPECT_LE(figures_with(estimate_scenario(study, option)).seconds,
            figures_with(estimate_scenario(plain, plain.options.front())).seconds * 1.02);
  const Study tight =
      study_of(training_plan("parallelism = \"choose\"\nbatch = 64\ngpu_memory = 2e9\n"));
  const Option& split = tight.options.front();
  ASSERT_TRUE(split.candidate.parallelism) << split.reason;
  const auto& chosen = *split.candidate.parallelism;
  EXPECT_GT(chosen.tensor * chosen.pipeline, 1U);
  TrainingSpec training;
  training.model.parameters = 400e6;
  EXPECT_LE(bytes_of_model(training, chosen), 0.8 * 2e9);
  const Scenario scenario = packet_scenario(study, option, 1);
  const auto& job = std::get<TrainingSpec>(scenario.jobs.front().work);
  EXPECT_TRUE(choose_parallelism(scenario, job, 64, 2e9));
  EXPECT_FALSE(choose_parallelism(scenario, job, 64, 1e6));  // nothing fits
}

TEST(PlanBudget, BuysAsManyServersAsItCan) {
  const std::string text =
      "[plan]\nbudget = 3e6\n[vary]\nnetwork = \"roce\"\ntopology = \"rail-only\"\n"
      "switch_ports = 32\n[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n";
  const Study study = study_of(text);
  const Option& option = study.options.front();
  ASSERT_EQ(option.state, State::kWaiting) << option.reason;
  EXPECT_LE(option.capital.typical, 3e6);
  EXPECT_EQ(option.candidate.servers, 8U);  // nine would do, but are not a size that is tried
  EXPECT_EQ(study.unit, "run of a GPU");
  EXPECT_EQ(option.units, 64);
}

TEST(PlanFigures, AreTheSameAfterWritingAndReading) {
  const Study study = study_of(
      "[plan]\ngpus = 16\n[vary]\ntopology = \"rail-only\"\n[[job]]\nkind = \"all-reduce\"\n"
      "size = \"1 MB\"\n");
  const Figures figures = figures_with(packet_scenario(study, study.options.front(), 1));
  EXPECT_TRUE(figures.done);
  const auto read = figures_from_json(to_json(figures));
  ASSERT_TRUE(read);
  EXPECT_EQ(*read, figures);
  EXPECT_FALSE(figures_from_json("{}"));
  EXPECT_FALSE(figures_from_json(to_json(figures).substr(0, 100)));
}

}  // namespace nerve::sim::plan
