// Errors of a scenario have the file, line, key, value and a fix; all errors are reported, not only
// the first.
#include <gtest/gtest.h>

#include "sim/scenario/scenario_file.h"

namespace nerve::sim::scenario_errors_test {
namespace {

constexpr const char* kGood = R"([servers]
count = 8
[fabric]
topology = "leaf-spine"
[[job]]
kind = "all-reduce"
size = "64 MB"
)";

std::vector<std::string> errors_of(const std::string& text,
                                   const std::vector<Override>& overrides = {}) {
  const auto scenario = read_scenario(text, "x.toml", overrides);
  std::vector<std::string> all;
  if (scenario) return all;
  for (const ScenarioError& error : scenario.error()) all.push_back(text_of(error));
  return all;
}

std::string error_of(const std::string& text, const std::vector<Override>& overrides = {}) {
  const std::vector<std::string> all = errors_of(text, overrides);
  EXPECT_EQ(all.size(), 1U) << (all.size() < 2 ? "" : all[1]);
  return all.empty() ? "" : all.front();
}

// The error of the good scenario with this key set.
std::string wrong(const std::string& key, const std::string& value) {
  return error_of(kGood, {{key, value}});
}

}  // namespace

TEST(ScenarioErrors, UnknownWordSuggestsTheNearest) {
  EXPECT_EQ(
      wrong("fabric.routing", "emcp"),
      "command line: fabric.routing: \"emcp\" is not known; did you mean \"ecmp\"? (ecmp, spray, "
      "flowlet, adaptive, valiant, controlled)");
  const std::string text =
      "[servers]\ncount = 8\n[fabric]\nrouting = \"emcp\"\n"
      "[[job]]\nkind = \"all-reduce\"\nsize = \"64 MB\"\n";
  EXPECT_EQ(error_of(text).rfind("x.toml:4: fabric.routing: \"emcp\"", 0), 0U);
}

TEST(ScenarioErrors, UnknownKeySuggestsTheNearest) {
  EXPECT_EQ(
      wrong("fabric.routng", "spray")
          .rfind("command line: fabric.routng: \"routng\" is not known; did you mean \"routing\"?",
                 0),
      0U);
  EXPECT_EQ(wrong("job.0.bytes", "\"1 MB\""),
            "command line: job.0.bytes: is not known; the key is called size");
  EXPECT_EQ(wrong("job.0.shift", "3"),
            "command line: job.0.shift: a job of kind \"all-reduce\" has no such key");
  EXPECT_NE(wrong("fabrik.routing", "spray").find("did you mean \"fabric\"?"), std::string::npos);
}

TEST(ScenarioErrors, AllErrorsAreReportedInTheOrderOfTheFile) {
  const std::vector<std::string> all = errors_of(R"(sed = 1
[servers]
count = -3
gpus = "eight"
[fabric]
nic_rate = 400
nic_delay = "1 parsec"
cut_through = "yes"
[[job]]
kind = "all-reduce"
[[job]]
kind = "all-redcue"
[[fault]]
kind = "slow"
)");
  ASSERT_EQ(all.size(), 12U);
  EXPECT_EQ(all[0].rfind("x.toml:1: sed: \"sed\" is not known; did you mean \"seed\"?", 0), 0U);
  EXPECT_EQ(all[1], "x.toml:3: servers.count: -3 is not a whole number from 1 to 65536");
  EXPECT_EQ(all[2], "x.toml:4: servers.gpus: \"eight\" is not a whole number from 1 to 256");
  EXPECT_EQ(all[3],
            "x.toml:6: fabric.nic_rate: 400 has no unit; write \"400 Gb/s\" or "
            "\"12.5 GB/s\"");
  EXPECT_EQ(all[4],
            "x.toml:7: fabric.nic_delay: \"1 parsec\" is not a time; write \"1 us\" or \"2.5 ms\"");
  EXPECT_EQ(all[5], "x.toml:8: fabric.cut_through: \"yes\" is not true or false (without quotes)");
  EXPECT_EQ(all[6].rfind("x.toml:9: job.0: size is missing: buffer size of each rank; a size", 0),
            0U);
  EXPECT_EQ(all[7].rfind("x.toml:12: job.1.kind: \"all-redcue\" is not known; did you mean "
                         "\"all-reduce\"?",
                         0),
            0U);
  for (std::size_t i = 8; i < 12; ++i) EXPECT_EQ(all[i].rfind("x.toml:13: fault.0: ", 0), 0U);
}

TEST(ScenarioErrors, NumbersOutOfRangeAreRejected) {
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"servers.count", "0"},
                                                        {"servers.count", "1e30"},
                                                        {"servers.count", "2.5"},
                                                        {"servers.count", "99999999999999999999"},
                                                        {"servers.count", "nan"},
                                                        {"servers.count", "[1]"},
                                                        {"servers.count", "2024-01-01"},
                                                        {"fabric.nic_rate", "0 Gb/s"},
                                                        {"fabric.nic_rate", "-1 Gb/s"},
                                                        {"fabric.nic_rate", "1e300 Gb/s"},
                                                        {"fabric.nic_rate", "inf Gb/s"},
                                                        {"fabric.nic_rate", "nan Gb/s"},
                                                        {"fabric.nic_rate", "400 Gb"},
                                                        {"fabric.nic_rate", "true"},
                                                        {"fabric.oversubscription", "0"},
                                                        {"fabric.oversubscription", "inf"},
                                                        {"fabric.oversubscription", "nan"},
                                                        {"fabric.buffer.size", "1 B"},
                                                        {"fabric.buffer.pause_at", "0"},
                                                        {"fabric.ecn.chance", "1.5"},
                                                        {"until", "0 s"},
                                                        {"until", "1e9 s"},
                                                        {"nic.mtu", "1500"},
                                                        {"nic", "3"},
                                                        {"job.0.size", "0 B"},
                                                        {"job.0.size", "99999999 TB"},
                                                        {"job.0.chunks", "-1"},
                                                        {"nic.spray", "all"},
                                                        {"nic.entropies", "63"},
                                                        {"nic.unsolicited", "0 B"},
                                                        {"nic.nscc.target", "0 s"},
                                                        {"nic.nscc.gamma", "2"},
                                                        {"nic.nscc.quick_gate", "0"},
                                                        {"fabric.trim_at", "1 B"},
                                                        {"fabric.link_retry", "3"},
                                                        {"name", "5"},
                                                        {"seed", "-1"}}) {
    EXPECT_NE(wrong(key, value), "") << key << " = " << value;
  }
}

TEST(ScenarioErrors, ImpossibleScenariosAreRejectedWithASuggestion) {
  const auto has = [](const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  has(error_of(kGood, {{"servers.gpus", "12"}, {"servers.nics", "5"}}),
      "12 GPUs cannot share 5 NICs evenly; nics = 4 would do");
  has(error_of(kGood, {{"fabric.topology", "fat-tree"}, {"fabric.ports_per_switch", "7"}}),
      "7 is odd; half of the ports go up, half down: 8 would do");
  has(error_of(kGood, {{"fabric.topology", "fat-tree"}, {"fabric.ports_per_switch", "4"}}),
      "has room for 16 NICs, and there are 64; 8 would do");
  has(error_of(kGood, {{"fabric.topology", "dragonfly"}, {"fabric.nics_per_router", "4"}}),
      "set all three or none");
  has(wrong("fabric.routing", "valiant"), "only topology = \"dragonfly\" has groups; use ecmp");
  has(error_of(kGood, {{"fabric.topology", "dragonfly"},
                       {"fabric.routing", "valiant"},
                       {"nic.transport", "tcp"}}),
      "\"valiant\" is for transport = \"rdma\"");
  has(error_of(kGood, {{"fabric.trimming", "true"}, {"fabric.pfc", "true"}}),
      "fabric.trimming: with pfc = true no packet finds its queue full; leave pfc out");
  has(error_of(kGood, {{"fabric.trimming", "true"}, {"fabric.link", "infiniband"}}),
      "with credits no packet finds its queue full");
  has(error_of(kGood, {{"fabric.trimming", "true"}, {"nic.transport", "tcp"}}),
      "TCP cannot answer for trimmed packets");
  has(error_of(kGood, {{"nic.spray", "entropy"}, {"fabric.routing", "spray"}}),
      "needs switches that hash UDP source ports: routing = \"ecmp\"");
  has(error_of(kGood, {{"nic.spray", "entropy"}, {"fabric.link", "infiniband"}}),
      "\"entropy\" chooses UDP source ports, which InfiniBand does not have");
  has(error_of(kGood, {{"nic.spray", "entropy"}, {"nic.hash_by_qp", "false"}}),
      "hash_by_qp = false hashes addresses only; leave hash_by_qp out");
  has(error_of(kGood, {{"nic.spray", "entropy"}, {"nic.recovery", "go-back-n"}}),
      "needs recovery = \"selective-repeat\"; leave recovery out");
  has(error_of(kGood, {{"nic.receiver_credits", "true"}, {"nic.transport", "tcp"}}),
      "is for transport = \"rdma\"; leave it out");
  has(wrong("job.0.ranks", "65"), "the cluster has 64 GPUs; the limit is 64");
  has(wrong("job.0.first_gpu", "64"), "there is no GPU 64; the cluster has 64");
  has(wrong("job.0.ranks", "1"), "1 rank has no peer to send to");
  has(wrong("job.0.network", "front-end"), "there is no front-end network; write [front_end]");
  has(wrong("fabric.topology", "file"), "write file = ");
  has(wrong("job.0.algorithm", "direct"),
      "\"direct\" does not support all-reduce; use one of auto, ring, tree, halving-doubling, "
      "hierarchical");
  has(error_of(kGood, {{"fabric.ecn.low", "2 MB"}, {"fabric.ecn.high", "1 MB"}}),
      "2 MB is above high, 1 MB");
  has(wrong("fabric.trunk_delay", "100 ms"), "leaves nothing to share");
  has(error_of(kGood, {{"fabric.link", "infiniband"}, {"fabric.lane_buffer", "2 KB"}}),
      "cannot hold one packet");
  has(error_of(kGood, {{"servers.count", "65536"}, {"servers.gpus", "256"}}),
      "are 16777216 GPUs; the limit is 1048576");
  has(error_of("[servers]\ncount = 2\n[[job]]\nkind = \"checkpoint\"\nsize = \"1 MB\"\n"),
      "x.toml:4: job.0.kind: a checkpoint needs storage servers; write [storage]");
  has(error_of("[servers]\ncount = 2\n[[job]]\nkind = \"shift\"\nsize = \"1 MB\"\nshift = 16\n"),
      "each of 16 ranks would send to itself");
}

TEST(ScenarioErrors, ParallelismMustMatchTheRanks) {
  const std::string text = R"([servers]
count = 6
[[job]]
kind = "training"
[job.model]
parameters = 7e9
layers = 32
hidden = 4096
[job.parallelism]
data = 4
tensor = 8
pipeline = 2
)";
  EXPECT_EQ(error_of(text),
            "x.toml:9: job.0.parallelism: data x tensor x pipeline is 4 x 8 x 2, "
            "but the job has 48 ranks; data = 3 would do");
  EXPECT_NE(error_of(text, {{"job.0.parallelism.data", "3"}, {"job.0.model.layers", "1"}})
                .find("1 layers are too few for pipeline = 2 stages"),
            std::string::npos);
  EXPECT_NE(error_of(text, {{"job.0.parallelism.data", "3"}, {"job.0.parallelism.expert", "3"}})
                .find("the model is dense"),
            std::string::npos);
  EXPECT_EQ(errors_of(text, {{"job.0.parallelism.data", "3"}}).size(), 0U);
}

TEST(ScenarioErrors, TomlErrorsNameTheLine) {
  EXPECT_EQ(error_of("[servers\ncount = 8\n").rfind("x.toml:1: not TOML: ", 0), 0U);
  EXPECT_EQ(error_of("[servers]\n[[\\ob]]\n").rfind("x.toml:2: not TOML: ", 0), 0U);
  // An assertion of the parser failed on this input (found by the fuzzer).
  EXPECT_EQ(error_of("[servers]\ncount\xcd\x9e = 8\n").rfind("x.toml:2: not TOML: ", 0), 0U);
  EXPECT_EQ(error_of(std::string(300'000, '#')),
            "x.toml: is longer than 256 KiB; is it a scenario?");
  EXPECT_EQ(error_of(std::string(5'000, '.')),
            "x.toml: has more than 4096 dots; is it a scenario?");
  EXPECT_EQ(errors_of("").size(), 2U);  // neither servers nor a job
}

TEST(ScenarioErrors, OverridesOfInvalidPathsAreRejected) {
  EXPECT_EQ(wrong("job.1.size", "1 MB"),
            "command line: job.1.size: there is no entry 1; the list has 1, counted from 0");
  EXPECT_NE(wrong("job.size", "1 MB").find("'size' is not a number"), std::string::npos);
  EXPECT_NE(wrong("servers.count.more", "1").find("8 is not a table"), std::string::npos);
  EXPECT_NE(wrong("a.b.c.d.e.f.g.h.i.j", "1"), "");
}

}  // namespace nerve::sim::scenario_errors_test
