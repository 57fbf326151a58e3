// Goal: the cause that is named is the right one, and the change that is proposed for it takes most
// of the excess away. Method: scenarios with one known cause each, in the network.
#include <gtest/gtest.h>

#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "tests/sim/why_run.h"

namespace nerve::sim::why_test {
namespace {

using test::best_trial;
using test::first_cause;
using test::joined;
using test::kFourLeaves;
using test::run_why;
using test::says;

constexpr const char* kWhyStar = R"([servers]
count = 9
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
)";

}  // namespace

TEST(Why, Collisions) {
  const std::string text = joined(kFourLeaves, R"([nic]
congestion = "none"
[[job]]
kind = "shift"
shift = 4
size = "8 MB"
repeat = 4
)");
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "collisions") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "leaf")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "collisions"), 0.7) << result.why[0].paragraph;
}

// Two flows leave each of two leaves, by two spines: the seed decides whether they meet.
TEST(Why, CollisionsDependOnTheSeed) {
  const std::string text = R"([servers]
count = 4
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 2
spines = 2
[nic]
congestion = "none"
[[job]]
kind = "shift"
shift = 2
size = "8 MB"
)";
  int collided = 0;
  int apart = 0;
  for (int seed = 1; seed <= 16; ++seed) {
    const RunResult result = run_why(text, {{"seed", std::to_string(seed)}});
    ASSERT_EQ(result.why.size(), 1U);
    if (result.why[0].excess > result.why[0].floor / 2) {
      EXPECT_EQ(first_cause(result), "collisions") << seed << ": " << result.why[0].paragraph;
      EXPECT_TRUE(says(result, "(2 flows); 50 %")) << seed << ": " << result.why[0].paragraph;
      ++collided;
    } else {
      EXPECT_EQ(first_cause(result), "none") << seed << ": " << result.why[0].paragraph;
      ++apart;
    }
  }
  EXPECT_GE(collided, 3);
  EXPECT_GE(apart, 1);
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
  const std::string text = joined(kWhyStar, R"([[job]]
kind = "all-reduce"
algorithm = "ring"
size = "16 MB"
[[fault]]
at = "0 s"
kind = "errors"
from = "nic3"
to = "switch"
bit_error_rate = 3e-7
)");
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

TEST(Why, ASlowCable) {
  const std::string text = joined(kWhyStar, R"([nic]
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
)");
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "slow-cable") << result.why[0].paragraph;
  EXPECT_TRUE(says(result, "nic3-switch")) << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "slow-cable"), 0.9) << result.why[0].paragraph;
}

TEST(Why, ACableThatIsDown) {
  const std::string text = joined(kFourLeaves, R"([nic]
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
)");
  const RunResult result = run_why(text);
  EXPECT_EQ(first_cause(result), "cable-down") << result.why[0].paragraph;
  EXPECT_GE(best_trial(text, result, "cable-down"), 0.9) << result.why[0].paragraph;
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

}  // namespace nerve::sim::why_test
