// `nerve learn`: its files, its search, its scores and its table.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cli/learn_judge.h"
#include "cli/learn_page.h"
#include "cli/learn_plan.h"
#include "cli/learn_score.h"
#include "cli/learn_search.h"
#include "nic/flow_control/policy_file.h"
#include "tests/cli/program.h"

namespace nerve::cli {
namespace {

constexpr LearnSearch kSmall{
    .rule_generations = 6, .rule_population = 16, .generations = 30, .pairs = 8, .spread = 60};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string folder(const std::string& name) {
  const std::string path = testing::TempDir() + "nerve-learn-" + name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

// A score that needs no simulation: how far a policy is from the answers of another one.
std::int64_t distance(const nic::Policy& policy) {
  LearnRule wanted;
  wanted.genes = {8000, -6000, -2000, -3000, -1000, 500, 700, 5000};
  const nic::Policy target = policy_of(wanted, 9);
  std::int64_t sum = 0;
  for (std::int32_t i = 0; i < 16; ++i) {
    const nic::Policy::Inputs inputs{i * 1024, (i % 3 - 1) * 2048, i * 256, -i * 1500, 0, 0,
                                     i * 2000};
    const std::int64_t off = decide(policy, inputs) - decide(target, inputs);
    sum += off * off / 4096;
  }
  return sum;
}

void advance(LearnSearcher& searcher) {
  std::vector<std::int64_t> scores;
  for (const nic::Policy& one : searcher.propose()) scores.push_back(distance(one));
  searcher.learn(scores, {scores[0]});
}

LearnPlan two_classes() {
  LearnPlan plan;
  plan.name = "two";
  plan.classes = {"a", "b"};
  plan.cases = {{0, "x", {}}, {0, "y", {}}, {1, "z", {}}};
  return plan;
}

LearnOutcome took(std::int64_t nanoseconds) {
  LearnOutcome outcome;
  outcome.figures.done = true;
  outcome.figures.completion = nic::log2_of(static_cast<std::uint64_t>(nanoseconds));
  return outcome;
}

}  // namespace

TEST(LearnSearch, FindsWhatItIsScoredBy) {
  LearnSearcher searcher{kSmall, 1};
  advance(searcher);
  const std::int64_t first = searcher.best_score();
  while (!searcher.done()) advance(searcher);
  EXPECT_LT(searcher.best_score(), first / 2);
  EXPECT_EQ(searcher.history().size(), searcher.generations());
  EXPECT_EQ(distance(searcher.best()), searcher.best_score());
}

// The same on every machine: a change of the search changes this number, and the commit says so.
TEST(LearnSearch, IsDeterministic) {
  LearnSearcher one{kSmall, 1};
  LearnSearcher two{kSmall, 1};
  LearnSearcher other{kSmall, 2};
  while (!one.done()) {
    advance(one);
    advance(two);
    advance(other);
  }
  EXPECT_EQ(one.best(), two.best());
  EXPECT_NE(one.best(), other.best());
  EXPECT_EQ(one.save(), two.save());
}

TEST(LearnSearch, ContinuesFromItsState) {
  LearnSearcher whole{kSmall, 1};
  LearnSearcher part{kSmall, 1};
  for (int i = 0; i < 9; ++i) {
    advance(whole);
    advance(part);
  }
  LearnSearcher resumed{kSmall, 1};
  EXPECT_EQ(resumed.restore(part.save()), "");
  while (!whole.done()) advance(whole);
  while (!resumed.done()) advance(resumed);
  EXPECT_EQ(resumed.best(), whole.best());
  EXPECT_EQ(resumed.save(), whole.save());
  LearnSearcher other{kSmall, 2};
  EXPECT_EQ(other.restore(part.save()), "it has another seed");
  EXPECT_TRUE(has(other.restore("{"), "cannot be read"));
}

TEST(LearnSearch, ARuleIsTheNetworkThatComputesIt) {
  LearnRule rule;
  rule.genes = {3 * 4096, -4096, -1024, -2048, -2048, -1024, 512, 6144};
  const nic::Policy policy = policy_of(rule, 1);
  const nic::Policy::Inputs inputs{2048, 512, 1024, -8192, 400, 0, 10'000};
  const double sum =
      3 * 4096 - 10'000 - 2048 / 4.0 + 8192 / 2.0 - 512 / 2.0 - 1024 / 4.0 + 400 / 8.0;
  EXPECT_NEAR(decide(policy, inputs), std::min(sum, 4096.0), 16);
  EXPECT_EQ(policy.window, 6144);
}

TEST(LearnScore, ClassesCountAlikeAndALossCountsMore) {
  const LearnPlan plan = two_classes();
  const std::vector<std::int64_t> even{-100, -300, -400};
  EXPECT_EQ(score_of(plan, even).all, (-200 - 400) / 2);
  const std::vector<std::int64_t> worse{-100, -300, 486};
  EXPECT_EQ(score_of(plan, worse).classes[1], 486);
  EXPECT_EQ(score_of(plan, worse).all, (-200 + 486 + 2 * 200) / 2);
}

// The policy takes 10 % longer than the best in class a, and 20 % less in class b.
TEST(LearnJudge, ComparesWithTheBestWithoutTelemetry) {
  const LearnPlan plan = two_classes();
  std::vector<LearnOutcome> outcomes;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t mine = i < 2 ? 1'100'000 : 800'000;
    for (const std::int64_t time : {mine, 2'000'000L, 1'500'000L, 1'000'000L, 500'000L, 900'000L}) {
      outcomes.push_back(took(time));
    }
  }
  const LearnJudgement judgement = judge(plan, outcomes);
  EXPECT_NEAR(judgement.verdicts[0][0].completion, 1.1, 0.001);
  EXPECT_NEAR(judgement.verdicts[1][0].completion, 0.8, 0.001);
  EXPECT_NEAR(judgement.verdicts[0][1].completion, 2.0, 0.001);
  EXPECT_NEAR(judgement.verdicts[2][0].completion, 0.938, 0.001);
  EXPECT_NEAR(judgement.fair[0], 0.9, 0.001);
  EXPECT_NEAR(judgement.fair[2], 0.9, 0.001);
  const std::string aims = aims_text(plan, judgement);
  EXPECT_TRUE(has(aims, "at most 5 % worse on any class: missed (+10.0 % on a)")) << aims;
  EXPECT_TRUE(has(aims, "over all classes: missed (-6.2 %)")) << aims;
  EXPECT_TRUE(has(aims, "which has telemetry: missed (+87.6 %)")) << aims;
  outcomes[0].figures.done = false;
  EXPECT_TRUE(has(judgement_table(plan, judge(plan, outcomes)), "1 NOT DONE"));
}

TEST(LearnPage, HasTheCurvesAndNoMarkupOfNames) {
  LearnPlan plan = two_classes();
  plan.name = "<b>";
  const std::vector<LearnGeneration> history{{true, 10, -20, 30, {1, 2}},
                                             {false, 5, -25, 3, {1, 2}}};
  const std::string page = learn_page(plan, history);
  EXPECT_TRUE(has(page, "<polyline")) << page;
  EXPECT_TRUE(has(page, ">-6 %<") && has(page, ">+4 %<") && has(page, ">+6 %<")) << "round numbers";
  EXPECT_TRUE(has(page, ">generation 1<") && has(page, ">2<"));
  EXPECT_TRUE(has(page, "&lt;b&gt;"));
  EXPECT_FALSE(has(page, "<b>"));
}

TEST(LearnPlan, ShippedFilesAreRead) {
  const std::string examples = std::string{NERVE_SOURCE_DIR} + "/examples/learn/";
  const auto training = read_learn_plan(examples + "training.toml");
  const auto held_out = read_learn_plan(examples + "held-out.toml");
  ASSERT_TRUE(training && held_out);
  EXPECT_EQ(training->classes, held_out->classes);
  EXPECT_GE(training->cases.size(), 20U);
  for (const LearnCase& one : training->cases) {
    for (const LearnCase& other : held_out->cases) {
      EXPECT_FALSE(one.in_class == other.in_class && one.name == other.name) << one.name;
    }
  }
}

TEST(LearnCommand, ErrorsHaveLineAndKey) {
  const std::string file = folder("errors") + "/x.toml";
  std::ofstream{file} << "seed = 1\nspead = 2\n[[class]]\nname = \"a\"\n";
  const test::Outcome outcome = test::nerve("learn " + file);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_TRUE(has(outcome.text, "x.toml:2: spead: \"spead\" is not known")) << outcome.text;
  EXPECT_TRUE(has(outcome.text, "class.0.cases: is missing")) << outcome.text;
  EXPECT_EQ(test::nerve("learn").exit_code, 2);
}

// Small enough for a test: two cases, a few candidates.
TEST(LearnCommand, TrainsResumesAndJudges) {
  const std::string in = folder("small");
  const std::string scenario = std::string{NERVE_SOURCE_DIR} + "/examples/learn/incast.toml";
  const auto write = [&](const std::string& name, int generations) {
    std::ofstream{in + "/" + name} << "name = \"small\"\n[search]\nrule_generations = 1\n"
                                   << "rule_population = 8\ngenerations = " << generations
                                   << "\npairs = 2\n[[class]]\nname = \"incast\"\nscenario = \""
                                   << scenario << "\"\ncases = [[\"job.0.size=100 KB\"], "
                                   << "[\"servers.count=3\", \"job.0.size=100 KB\"]]\n";
  };
  write("whole.toml", 3);
  write("part.toml", 1);
  const auto read = [](const std::string& file) {
    std::ifstream stream{file};
    return std::string{std::istreambuf_iterator<char>{stream}, {}};
  };
  const std::string quiet = " --quiet --jobs ";
  ASSERT_EQ(test::nerve("learn " + in + "/whole.toml" + quiet + "2 --out " + in + "/a").exit_code,
            0);
  ASSERT_EQ(test::nerve("learn " + in + "/part.toml" + quiet + "1 --out " + in + "/b").exit_code,
            0);
  ASSERT_EQ(test::nerve("learn " + in + "/whole.toml --resume" + quiet + "1 --out " + in + "/b")
                .exit_code,
            0);
  EXPECT_EQ(read(in + "/a/state.json"), read(in + "/b/state.json"));
  const auto policy = nic::read_policy(read(in + "/a/policy.toml"));
  ASSERT_TRUE(policy);
  EXPECT_EQ(policy->trained_on, "whole.toml (seed 1, 4 of 4 generations)");
  const test::Outcome judged =
      test::nerve("learn " + in + "/whole.toml --judge --quiet --policy " + in + "/a/policy.toml");
  EXPECT_EQ(judged.exit_code, 0) << judged.text;
  EXPECT_TRUE(has(judged.text, "(fair)") && has(judged.text, "hpcc")) << judged.text;
  const test::Outcome bad =
      test::nerve("learn " + in + "/whole.toml --judge --quiet --policy " + in + "/whole.toml");
  EXPECT_EQ(bad.exit_code, 1);
  EXPECT_TRUE(has(bad.text, "whole.toml:")) << bad.text;
}

}  // namespace nerve::cli
