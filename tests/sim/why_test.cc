// Goal: the cause that is named is the right one, and the change that is proposed for it takes most
// of the excess away. Method: scenarios with one known cause each.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "sim/why/variants.h"

namespace nerve::sim {
namespace {

RunResult run_why(const std::string& text, const std::vector<Override>& overrides = {}) {
  const auto scenario = read_scenario(text, "why.toml", overrides);
  if (!scenario) {
    ADD_FAILURE() << text_of(scenario.error()[0]);
    return {};
  }
  auto result = run(*scenario);
  EXPECT_TRUE(result) << result.error();
  return result ? *std::move(result) : RunResult{};
}

std::string first_cause(const RunResult& result, std::size_t job = 0) {
  if (job >= result.why.size()) return "no job";
  return result.why[job].causes.empty() ? "none" : result.why[job].causes[0].kind;
}

const CauseResult* find_cause(const RunResult& result, std::string_view kind, std::size_t job = 0) {
  for (const CauseResult& one : result.why[job].causes) {
    if (one.kind == kind) return &one;
  }
  return nullptr;
}

bool says(const RunResult& result, std::string_view words, std::size_t job = 0) {
  return result.why[job].paragraph.find(words) != std::string::npos;
}

// The best of the changes that are proposed for a cause: how much of the excess it takes away.
double best_trial(const std::string& text, const RunResult& result, const std::string& cause,
                  std::size_t job = 0) {
  const auto scenario = read_scenario(text, "why.toml", {});
  const auto document = scenario_file::parse_document(text, "why.toml");
  double best = -1;
  for (const Variant& variant : variants_for(*document, *scenario, result, job)) {
    if (variant.cause != cause) continue;
    const RunResult changed = run_why(text, variant.set);
    if (changed.why.empty()) continue;
    const Trial trial = trial_of(variant, result, changed, job);
    EXPECT_EQ(trial.set.size(), variant.set.size());
    best = std::max(best, trial.takes_away);
  }
  return best;
}

constexpr const char* kWhyStar = R"([servers]
count = 9
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
)";

constexpr const char* kWhyLeafSpine = R"([servers]
count = 16
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 4
)";

}  // namespace

TEST(Why, NothingIsNamedAtTheBound) {
  const RunResult result = run_why(std::string{kWhyStar} + R"([[job]]
kind = "all-reduce"
algorithm = "ring"
size = "32 MB"
)");
  EXPECT_EQ(first_cause(result), "none");
  EXPECT_TRUE(says(result, "nothing to explain")) << result.why[0].paragraph;
  EXPECT_FALSE(job_to_explain(result));
}

TEST(Why, Collisions) {
  const std::string text = std::string{kWhyLeafSpine} + R"([nic]
congestion = "none"
[[job]]
kind = "shift"
shift = 4
size = "8 MB"
repeat = 4
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "collisions") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "leaf")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "collisions"), 0.7) << result.why[0].paragraph;
}

TEST(Why, TooFewCables) {
  const std::string text = R"([servers]
count = 16
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 1
trunk_rate = "100 Gb/s"
[nic]
congestion = "none"
[[job]]
kind = "shift"
shift = 4
size = "4 MB"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "too-few-cables") << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "too-few-cables"), 0.5) << result.why[0].paragraph;
}

TEST(Why, AnIncastNamesTheReceiver) {
  const std::string text = R"([servers]
count = 33
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[[job]]
kind = "incast"
size = "2 MB"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "incast") << result.why[0].paragraph;
  EXPECT_EQ(result.why[0].causes[0].where, "switch>nic0");
  EXPECT_TRUE(says(result, "32 flows at once")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "incast"), 0.7) << result.why[0].paragraph;
}

TEST(Why, PausesLeadToTheirRoot) {
  const std::string text = R"([servers]
count = 16
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 1
trunk_rate = "400 Gb/s"
[fabric.buffer]
size = "2 MB"
[nic]
congestion = "none"
[[job]]
kind = "shift"
shift = 4
size = "4 MB"
[[fault]]
at = "50 us"
kind = "storm"
from = "nic5"
lasts = "1 ms"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "pauses") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "begin at nic5")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "pauses"), 0.9) << result.why[0].paragraph;
}

// Flows that leave the same leaf as an incast are paused, although their receivers are idle.
TEST(Why, VictimsOfAnIncastNameItsQueue) {
  const RunResult result = run_why(R"([servers]
count = 16
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 1
trunk_rate = "400 Gb/s"
[fabric.buffer]
size = "2 MB"
[nic]
congestion = "none"
[[job]]
name = "incast"
kind = "incast"
ranks = 8
size = "8 MB"
[[job]]
name = "victim"
kind = "shift"
shift = 4
first_gpu = 4
ranks = 8
size = "8 MB"
)");
  EXPECT_EQ(first_cause(result, 1), "pauses") << result.why[1].paragraph;
  EXPECT_TRUE(says(result, "begin at the queue leaf0>nic0", 1)) << result.why[1].paragraph;
}

TEST(Why, Losses) {
  const std::string text = std::string{kWhyStar} + R"([[job]]
kind = "all-reduce"
algorithm = "ring"
size = "16 MB"
[[fault]]
at = "0 s"
kind = "errors"
from = "nic3"
to = "switch"
bit_error_rate = 3e-7
)";
  const RunResult result = run_why(text);
  EXPECT_GT(result.totals.lost, 10U);
  EXPECT_EQ(first_cause(result), "losses") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "nic3")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "losses"), 0.9) << result.why[0].paragraph;
}

TEST(Why, DropsAreLosses) {
  const std::string text = R"([servers]
count = 9
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
pfc = false
[fabric.buffer]
size = "300 KB"
[[job]]
kind = "incast"
size = "2 MB"
)";
  const RunResult result = run_why(text);
  EXPECT_GT(result.totals.dropped, 0U);
  EXPECT_EQ(first_cause(result), "losses") << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "losses"), 0.5) << result.why[0].paragraph;
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

TEST(Why, ASlowCable) {
  const std::string text = std::string{kWhyStar} + R"([nic]
congestion = "none"
[[job]]
kind = "all-reduce"
algorithm = "ring"
size = "16 MB"
[[fault]]
at = "0 s"
kind = "slow"
rate = "40 Gb/s"
from = "nic3"
to = "switch"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "slow-cable") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "nic3-switch")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "slow-cable"), 0.9) << result.why[0].paragraph;
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

TEST(Why, ACableThatIsDown) {
  const std::string text = std::string{kWhyLeafSpine} + R"([nic]
congestion = "none"
[[job]]
kind = "all-reduce"
algorithm = "ring"
size = "32 MB"
[[fault]]
at = "500 us"
kind = "down"
from = "leaf0"
to = "spine1"
reroute = "2 ms"
[[fault]]
at = "500 us"
kind = "down"
from = "leaf0"
to = "spine2"
reroute = "2 ms"
[[fault]]
at = "500 us"
kind = "down"
from = "leaf0"
to = "spine3"
reroute = "2 ms"
[[fault]]
at = "500 us"
kind = "down"
from = "leaf0"
to = "spine0"
reroute = "2 ms"
[[fault]]
at = "1 ms"
kind = "up"
from = "leaf0"
to = "spine0"
reroute = "10 us"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "cable-down") << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "cable-down"), 0.9) << result.why[0].paragraph;
}

TEST(Why, Latency) {
  const std::string text = R"([servers]
count = 8
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[[job]]
kind = "all-reduce"
algorithm = "ring"
size = "64 KB"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "latency") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "14 messages")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "latency"), 0.4) << result.why[0].paragraph;
}

// The incast is over soon, but the rates that it has cut recover slowly.
TEST(Why, CongestionControlThatHoldsBack) {
  const std::string text = R"([servers]
count = 5
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[nic.dcqcn]
increase_timer = "5 ms"
byte_counter = "0 B"
[[job]]
kind = "incast"
size = "8 MB"
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "held-back") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "DCQCN")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "held-back"), 0.7) << result.why[0].paragraph;
}

TEST(Why, FlowsSeeCollisionsAndSayWhatTheyCannotSee) {
  const std::string text = "fidelity = \"flow\"\n" + std::string{kWhyLeafSpine} + R"([[job]]
kind = "shift"
shift = 4
size = "8 MB"
repeat = 4
)";
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "collisions") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "are not simulated with flows")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "collisions"), 0.7) << result.why[0].paragraph;
}

TEST(Why, ADeadlockHasNoRoot) {
  const auto scenario = read_scenario(R"(until = "100 ms"
[servers]
count = 20
gpus = 1
[fabric]
topology = "file"
file = "ring.txt"
[fabric.buffer]
size = "500 KB"
[nic]
congestion = "none"
[[job]]
kind = "shift"
shift = 8
size = "2 MB"
)",
                                      NERVE_SOURCE_DIR "/examples/scenarios/deadlock.toml", {});
  ASSERT_TRUE(scenario) << text_of(scenario.error()[0]);
  const auto result = run(*scenario);
  ASSERT_TRUE(result) << result.error();
  ASSERT_FALSE(result->jobs[0].done);
  EXPECT_TRUE(says(*result, "did not finish")) << result->why[0].paragraph;
  EXPECT_TRUE(says(*result, "deadlock")) << result->why[0].paragraph;
}

// What was seen, and not parts of an excess that has no meaning.
TEST(Why, FlowsWithoutABoundAreComparedWithTheirIdeal) {
  const RunResult result = run_why(std::string{kWhyStar} + R"([[job]]
kind = "random"
size = "200 KB"
load = 0.9
requests = 300
)");
  ASSERT_EQ(result.why.size(), 1U);
  EXPECT_TRUE(says(result, "above its ideal time")) << result.why[0].paragraph;
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

}  // namespace nerve::sim
