// `nerve sim` as a user calls it: its error messages, and where it writes results.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/memory_room.h"
#include "cli/run_folder.h"
#include "cli/sim_sizes.h"
#include "cli/sim_state.h"
#include "tests/cli/program.h"

namespace nerve::cli::sim_test {
namespace {

using test::nerve;
using test::Outcome;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// A temporary folder with a small scenario.
class Sim : public testing::Test {
 protected:
  Sim()
      : folder_{testing::TempDir() + "nerve_sim_" +
                testing::UnitTest::GetInstance()->current_test_info()->name()} {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    write("small.toml", R"(description = "two messages"
[servers]
count = 2
gpus = 1
[fabric]
topology = "star"
[[job]]
kind = "permutation"
size = "64 KB"
)");
  }
  ~Sim() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream{path(name)} << text;
  }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] bool there(const std::string& name) const {
    return std::filesystem::exists(path(name)) && std::filesystem::file_size(path(name)) > 0;
  }

 private:
  std::string folder_;
};

}  // namespace

TEST_F(Sim, RunsAndWritesAResultAndAPage) {
  const Outcome run = nerve("sim " + path("small.toml") + " --out " + path("out/deep"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(has(run.text, "results in " + path("out/deep") + "/result.json")) << run.text;
  EXPECT_TRUE(there("out/deep/result.json"));
  EXPECT_TRUE(there("out/deep/report.html"));
}

TEST_F(Sim, JsonIsTheResult) {
  const Outcome run = nerve("sim " + path("small.toml") + " --json --quiet --out " + path("o"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_EQ(run.text.rfind('{', 0), 0U) << run.text;
}

TEST_F(Sim, ExplainRunsWhatWouldProveTheCause) {
  write("slow.toml", R"([servers]
count = 4
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[[job]]
kind = "all-reduce"
size = "8 MB"
[[fault]]
at = "0 s"
kind = "slow"
rate = "25 Gb/s"
from = "nic1"
to = "switch"
)");
  const std::string call = "sim " + path("slow.toml") + " --explain --quiet --out " + path("o");
  const Outcome run = nerve(call);
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(has(run.text, "a cable that has slowed down (nic1-switch)")) << run.text;
  EXPECT_TRUE(has(run.text, "fault.0.at=24 h")) << run.text;
  EXPECT_TRUE(there("o/trials/000/result.json"));
  const Outcome again = nerve(call + " --json");
  const auto result = nlohmann::json::parse(again.text);
  ASSERT_FALSE(result["trials"].empty());
  EXPECT_EQ(result["trials"][0]["set"][0], "fault.0.at=24 h");
  EXPECT_GT(result["trials"][0]["takes_away"], 0.9);
  EXPECT_EQ(result["why"][0]["causes"][0]["kind"], "slow-cable");
}

TEST_F(Sim, ExplainHasNothingToRunAtTheBound) {
  const Outcome run = nerve("sim " + path("small.toml") +
                            " --explain --quiet --set 'job.0.size=64 MB' --out " + path("o"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(has(run.text, "nothing to explain")) << run.text;
  EXPECT_FALSE(has(run.text, "explained:")) << run.text;
  EXPECT_FALSE(std::filesystem::exists(path("o/trials")));
}

TEST_F(Sim, ExplainTakesOneFidelityAndOneSize) {
  EXPECT_EQ(nerve("sim " + path("small.toml") + " --explain --both").exit_code, 2);
  EXPECT_EQ(nerve("sim " + path("small.toml") + " --explain --sizes 1K:2K").exit_code, 2);
}

TEST(SimSizes, AreParsedOrRefusedWithAReason) {
  using Sizes = std::vector<std::uint64_t>;
  EXPECT_EQ(*parse_sizes("1K:8K"), (Sizes{1024, 2048, 4096, 8192}));
  EXPECT_EQ(*parse_sizes("3:100:4"), (Sizes{3, 12, 48}));
  EXPECT_EQ(*parse_sizes("2M:2M"), (Sizes{2 << 20}));
  EXPECT_EQ(parse_sizes("1:1024T")->size(), 51U);
  EXPECT_EQ(*parse_sizes("1024T:1024T:1048576"), (Sizes{std::uint64_t{1} << 50U}));
  for (const char* text : {"", "1K", "1K:", ":1K", "0:8", "1K:1", "1K:1M:1", "1K:1M:x", "1:2:3:4",
                           "1KB:1M", "-1:8", "1K:1025T", "99999999999999999999:1"}) {
    const auto sizes = parse_sizes(text);
    ASSERT_FALSE(sizes) << text;
    EXPECT_TRUE(has(sizes.error(), "write FIRST:LAST or FIRST:LAST:FACTOR")) << sizes.error();
  }
}

TEST_F(Sim, SizesPrintsATableOfCollectives) {
  write("ring.toml", R"([servers]
count = 4
gpus = 1
[fabric]
topology = "star"
nic_rate = "100 Gb/s"
[[job]]
kind = "all-reduce"
size = "1 MB"
)");
  const Outcome run = nerve("sim " + path("ring.toml") + " --sizes 1M:4M --out " + path("o"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(has(run.text, "algbw")) << run.text;
  for (const char* size : {"1048576 ", "2097152 ", "4194304 "}) {
    EXPECT_TRUE(has(run.text, size)) << run.text;
  }
  EXPECT_TRUE(there("o/sizes.json"));
  EXPECT_FALSE(there("o/result.json"));
  const Outcome json =
      nerve("sim " + path("ring.toml") + " --sizes 4M:4M --json --quiet --out " + path("o"));
  EXPECT_EQ(json.exit_code, 0) << json.text;
  const auto figures = nlohmann::json::parse(json.text, nullptr, false);
  ASSERT_TRUE(figures.is_object()) << json.text;
  const auto& job = figures["rows"][0]["jobs"][0];
  EXPECT_EQ(figures["rows"][0]["size"], 4 << 20);
  EXPECT_NEAR(job["algorithm_bandwidth"].get<double>() * job["seconds"].get<double>(), 4 << 20, 1);
  EXPECT_NEAR(job["bus_bandwidth"].get<double>(), job["algorithm_bandwidth"].get<double>() * 1.5,
              1e6);
  EXPECT_GT(job["bus_bandwidth"].get<double>(), 0.8 * 12.5e9);
  EXPECT_LE(job["bus_bandwidth"].get<double>(), job["bus_bandwidth_bound"].get<double>() * 1.001);
}

TEST_F(Sim, SizesAreForCollectives) {
  const Outcome run = nerve("sim " + path("small.toml") + " --sizes 1K:2K --out " + path("o"));
  EXPECT_EQ(run.exit_code, 2) << run.text;
  EXPECT_TRUE(has(run.text, "job \"permutation\" is no collective")) << run.text;
  const Outcome bad = nerve("sim " + path("small.toml") + " --sizes 1K");
  EXPECT_EQ(bad.exit_code, 2) << bad.text;
}

TEST_F(Sim, BothPrintsTheErrorsOfFlows) {
  const Outcome run = nerve("sim " + path("small.toml") + " --both --out " + path("both"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(has(run.text, "completion time")) << run.text;
  EXPECT_TRUE(has(run.text, "+0.0 %")) << run.text;
  EXPECT_TRUE(has(run.text, "nothing was lost or paused")) << run.text;
  EXPECT_TRUE(there("both/packet/result.json"));
  EXPECT_TRUE(there("both/flow/result.json"));
  EXPECT_TRUE(there("both/report.html"));
}

TEST_F(Sim, CompareSetsResultsSideBySide) {
  for (const char* seed : {"1", "2"}) {
    const Outcome run =
        nerve("sim " + path("small.toml") + " --quiet --seed " + seed + " --out " + path(seed));
    EXPECT_EQ(run.exit_code, 0) << run.text;
  }
  const std::string both = path("1/result.json") + " " + path("2/result.json");
  const Outcome run = nerve("sim compare " + both + " --out " + path("page"));
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(there("page/report.html"));
  EXPECT_EQ(nerve("sim compare " + path("1/result.json")).exit_code, 2);
  const Outcome other = nerve("sim compare " + path("1/result.json") + " " + path("small.toml"));
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(has(other.text, "give a result.json of nerve sim")) << other.text;
}

TEST_F(Sim, ScenarioErrorsAreReportedWithTheirPlace) {
  write("wrong.toml", "[servers]\ncount = 0\n[fabric]\nrouting = \"emcp\"\n[[job]]\n");
  const Outcome run = nerve("sim " + path("wrong.toml"));
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.text, path("wrong.toml") + ":2: servers.count: 0 is not")) << run.text;
  EXPECT_TRUE(has(run.text, path("wrong.toml") + ":4: fabric.routing: \"emcp\"")) << run.text;
  EXPECT_TRUE(has(run.text, path("wrong.toml") + ":5: job.0: kind is missing")) << run.text;
  const Outcome set = nerve("sim " + path("small.toml") + " --set servers.cuont=3");
  EXPECT_EQ(set.exit_code, 1);
  EXPECT_TRUE(has(set.text, "did you mean \"count\"?")) << set.text;
}

TEST_F(Sim, CommandLineErrorsAreUsageErrors) {
  EXPECT_EQ(nerve("sim").exit_code, 2);
  const Outcome unknown = nerve("sim --bogus");
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_EQ(unknown.text.rfind("nerve sim: ", 0), 0U) << unknown.text;
  EXPECT_TRUE(has(unknown.text, "unknown option `--bogus`; see `nerve sim --help`\n"))
      << unknown.text;
  EXPECT_EQ(nerve("sim " + path("small.toml") + " --set nonsense").exit_code, 2);
  EXPECT_EQ(nerve("sim " + path("small.toml") + " --seed -1").exit_code, 2);
  EXPECT_EQ(nerve("sim /no/such/file").exit_code, 1);
  EXPECT_EQ(nerve("sim --help").exit_code, 0);
  EXPECT_TRUE(has(nerve("sim --keys").text, "oversubscription"));
}

TEST_F(Sim, CtrlCEndsItAndWritesNothing) {
  const Outcome run =
      nerve("sim " + path("small.toml") + " --quiet --set 'job.0.size=1 TB' --out " + path("out"),
            "timeout --foreground --preserve-status --signal=INT 2");
  EXPECT_EQ(run.exit_code, 130) << run.text;
  EXPECT_TRUE(has(run.text, "nerve sim: interrupted at ")) << run.text;
  EXPECT_FALSE(std::filesystem::exists(path("out")));
}

TEST_F(Sim, AnUnwritableFolderIsReportedBeforeTheRun) {
  for (const std::string& folder :
       {std::string{"/proc"}, std::string{"/proc/x"}, path("small.toml")}) {
    const Outcome run =
        nerve("sim " + path("small.toml") + " --set 'job.0.size=1 GB' --out " + folder);
    EXPECT_EQ(run.exit_code, 1) << run.text;
    EXPECT_TRUE(has(run.text, "this folder: ")) << run.text;
    EXPECT_TRUE(has(run.text, "choose another with --out")) << run.text;
  }
}

TEST_F(Sim, ARunThatNeedsTooMuchMemoryIsRefused) {
  const Outcome run =
      nerve("sim " + path("small.toml") + " --set servers.count=2000 " +
            "--set job.0.kind=full-mesh --set nic.qps_per_pair=64 " + "--set fabric.pfc=false");
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_TRUE(has(run.text, "of memory, and ")) << run.text;
  EXPECT_TRUE(has(run.text, "--anyway")) << run.text;
}

TEST(SimParts, NeededMemoryIsComparedWithAvailableMemory) {
  EXPECT_EQ(available_memory("MemTotal: 9 kB\nMemAvailable:   2048 kB\n"), 2048U * 1024);
  EXPECT_EQ(available_memory("nothing"), std::nullopt);
  EXPECT_EQ(no_room(100, 100), "");
  EXPECT_EQ(no_room(100, std::nullopt), "");
  EXPECT_TRUE(has(no_room(3'000'000'000, 1'000'000'000), "3.0 GB of memory, and 1.0 GB"));
}

TEST(SimParts, FoldersHavePlainNames) {
  EXPECT_EQ(folder_for("first"), "results/first");
  EXPECT_EQ(folder_for("a b/../c"), "results/a-b-..-c");
  EXPECT_EQ(folder_for("../x"), "results/x");
  EXPECT_EQ(folder_for(""), "results/scenario");
}

TEST(SimParts, ProgressShowsWhatIsKnown) {
  using std::chrono::milliseconds;
  sim::RunState state{Time{milliseconds{12}}, 2'000'000, 1, 3, 0};
  EXPECT_EQ(state_text(state), "12 ms simulated, 1 of 3 jobs done");
  EXPECT_EQ(progress_text(state, std::chrono::seconds{2}),
            "12 ms simulated, 1 of 3 jobs done, 1.0 M events/s, 2 s");
  state.jobs = 1;
  state.share = 0.25;
  EXPECT_EQ(progress_text(state, std::chrono::seconds{2}),
            "[###.........] 25 %, 6 s to go; 12 ms simulated, 1.0 M events/s, 2 s");
  state.share = 1.2;  // an estimate
  EXPECT_TRUE(has(progress_text(state, std::chrono::seconds{2}), "99 %, 0 s to go"));
  EXPECT_EQ(simulated_text(1'234'567'890), "1.235 ms");
  EXPECT_EQ(simulated_text(12), "12 ps");
}

}  // namespace nerve::cli::sim_test
