// Goal: the cause that is named is the right one, and the change that is proposed for it takes most
// of the excess away. Method: scenarios with one known cause each, in servers and jobs.
#include <gtest/gtest.h>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/why/variants.h"
#include "tests/sim/why_run.h"

namespace nerve::sim::why_jobs_test {
namespace {

using test::best_trial;
using test::find_cause;
using test::first_cause;
using test::joined;
using test::kFourLeaves;
using test::run_why;
using test::says;

constexpr const char* kEightServers = R"([servers]
count = 8
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
)";

}  // namespace

TEST(Why, NothingIsNamedAtTheBound) {
  const RunResult result = run_why(joined(kEightServers, R"([[job]]
kind = "all-reduce"
algorithm = "ring"
size = "32 MB"
)"));
  EXPECT_EQ(first_cause(result), "none");
  EXPECT_TRUE(says(result, "nothing to explain")) << result.why[0].paragraph;
  EXPECT_FALSE(job_to_explain(result));
}

TEST(Why, ASlowGpu) {
  const std::string text = R"([servers]
count = 4
gpus = 1
[fabric]
topology = "star"
nic_rate = "400 Gb/s"
[[job]]
kind = "training"
tflops = 20
[job.model]
parameters = 20e6
layers = 4
hidden = 256
[[job.straggler]]
rank = 2
slowdown = 2
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "slow-gpu") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "rank 2")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "slow-gpu"), 0.7) << result.why[0].paragraph;
}

TEST(Why, ASlowInterconnect) {
  const std::string text = R"([servers]
count = 4
gpus = 4
interconnect = "200 Gb/s"
[fabric]
topology = "rail-optimised"
nic_rate = "200 Gb/s"
nics_per_leaf = 4
[[job]]
kind = "all-reduce"
size = "64 MB"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "interconnect") << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "interconnect"), 0.6) << result.why[0].paragraph;
}

TEST(Why, Latency) {
  const std::string text = joined(kEightServers, R"([[job]]
kind = "all-reduce"
algorithm = "ring"
size = "64 KB"
)");
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "latency") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "14 messages")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "latency"), 0.4) << result.why[0].paragraph;
}

TEST(Why, FlowsSeeCollisionsAndSayWhatTheyCannotSee) {
  const std::string text = joined("fidelity = \"flow\"\n", joined(kFourLeaves, R"([[job]]
kind = "shift"
shift = 4
size = "8 MB"
repeat = 4
)"));
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "collisions") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "are not simulated with flows")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "collisions"), 0.7) << result.why[0].paragraph;
}

// What was seen, and not parts of an excess that has no meaning.
TEST(Why, FlowsWithoutABoundAreComparedWithTheirIdeal) {
  const RunResult result = run_why(joined(kEightServers, R"([[job]]
kind = "random"
size = "200 KB"
load = 0.9
requests = 300
)"));
  ASSERT_EQ(result.why.size(), 1U);
  EXPECT_TRUE(says(result, "its ideal time")) << result.why[0].paragraph;
  const CauseResult* incast = find_cause(result, "incast");
  ASSERT_NE(incast, nullptr) << result.why[0].paragraph;
  EXPECT_EQ(incast->share, 0);
}

TEST(Variants, KeysFollowTheFile) {
  const std::string text = R"([servers]
count = 4
gpus = 1
[fabric]
topology = "star"
[job]
kind = "training"
[job.model]
parameters = 20e6
layers = 4
hidden = 256
[job.straggler]
rank = 2
slowdown = 2
)";
  const auto scenario = read_scenario(text, "one.toml", {});
  ASSERT_TRUE(scenario) << text_of(scenario.error()[0]);
  const auto document = scenario_file::parse_document(text, "one.toml");
  RunResult result;
  result.why = {{.job = "training", .causes = {{.kind = "slow-gpu"}}, .paragraph = {}}};
  const auto variants = variants_for(*document, *scenario, result, 0);
  ASSERT_EQ(variants.size(), 1U);
  EXPECT_EQ(variants[0].set, (std::vector<Override>{{"job.straggler.slowdown", "1"}}));
  EXPECT_TRUE(read_scenario(text, "one.toml", variants[0].set));
}

}  // namespace nerve::sim::why_jobs_test
