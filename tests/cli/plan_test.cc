// `nerve plan`: its files, --resume, --explain, and that the number of processes does not matter.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cli/plan_page.h"
#include "tests/cli/program.h"

namespace nerve::cli {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string contents_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream{path}.rdbuf();
  return text.str();
}

class PlanCommand : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream{folder_ + "/x.toml"}
        << "[plan]\ngpus = 16\nfinalists = 2\nseeds = 2\n[vary]\nnetwork = [\"roce\", "
           "\"infiniband\"]\ntopology = [\"rail-only\", \"rail-optimised\"]\noversubscription = 1\n"
           "switch_ports = 64\n[[job]]\nkind = \"all-reduce\"\nsize = \"1 MB\"\n";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] test::Outcome plan(const std::string& options) const {
    return test::nerve("plan " + folder_ + "/x.toml " + options);
  }

  std::string folder_ = testing::TempDir() + "nerve_plan_" + std::to_string(::getpid());
};

}  // namespace

TEST_F(PlanCommand, WritesTheSameForEveryNumberOfProcesses) {
  const test::Outcome one = plan("--jobs 1 --out " + folder_ + "/one");
  EXPECT_EQ(one.exit_code, 0) << one.text;
  EXPECT_TRUE(contains(one.text, "Bill of materials")) << one.text;
  EXPECT_TRUE(contains(one.text, "Build ")) << one.text;
  const test::Outcome two = plan("--jobs 2 --out " + folder_ + "/two");
  EXPECT_EQ(two.exit_code, 0) << two.text;
  const std::string json = contents_of(folder_ + "/one/plan.json");
  EXPECT_EQ(json, contents_of(folder_ + "/two/plan.json"));
  const auto parsed = nlohmann::json::parse(json, nullptr, false);
  ASSERT_FALSE(parsed.is_discarded());
  EXPECT_EQ(parsed["nerve_plan"], 1);
  const auto best = parsed["best"].get<std::size_t>();
  ASSERT_GE(best, 1U);
  EXPECT_EQ(parsed["candidates"][best - 1]["state"], "simulated");
  EXPECT_TRUE(contains(contents_of(folder_ + "/one/plan.html"), "nerve-plan"));
  // A finalist is a scenario.
  const std::string scenario = folder_ + "/one/" + std::to_string(best) + ".toml";
  const test::Outcome run = test::nerve("sim " + scenario + " --quiet --out " + folder_ + "/best");
  EXPECT_EQ(run.exit_code, 0) << run.text;
}

TEST_F(PlanCommand, ResumesAndExplains) {
  const std::string out = "--quiet --out " + folder_ + "/out ";
  EXPECT_EQ(plan(out).exit_code, 0);
  const std::string json = contents_of(folder_ + "/out/plan.json");
  // A figure that no run would give: with --resume it is believed, without it is measured again.
  std::size_t changed = 0;
  for (const auto& entry : std::filesystem::directory_iterator{folder_ + "/out/runs"}) {
    std::string text = contents_of(entry.path());
    const std::size_t at = text.find("\"pauses\": 0");
    if (at == std::string::npos) continue;
    text.replace(at, 11, "\"pauses\": 77");
    std::ofstream{entry.path()} << text;
    ++changed;
  }
  EXPECT_GT(changed, 0U);
  EXPECT_EQ(plan(out + "--resume").exit_code, 0);
  EXPECT_TRUE(contains(contents_of(folder_ + "/out/plan.json"), "\"pauses\": 77"));
  EXPECT_EQ(plan(out).exit_code, 0);
  EXPECT_EQ(contents_of(folder_ + "/out/plan.json"), json);
  // A file that is not one of a run is run again.
  for (const auto& entry : std::filesystem::directory_iterator{folder_ + "/out/runs"}) {
    std::ofstream{entry.path()} << "{";
  }
  const test::Outcome explained = plan(out + "--explain 1,2");
  EXPECT_EQ(explained.exit_code, 0) << explained.text;
  EXPECT_TRUE(contains(explained.text, "beat")) << explained.text;
  EXPECT_EQ(contents_of(folder_ + "/out/plan.json"), json);
  EXPECT_EQ(plan(out + "--explain 1,99").exit_code, 2);
}

TEST_F(PlanCommand, KeepsOtherFilesOfItsFolder) {
  std::filesystem::create_directories(folder_ + "/out/runs");
  std::ofstream{folder_ + "/out/runs/mine.json"} << "mine";
  EXPECT_EQ(plan("--quiet --out " + folder_ + "/out").exit_code, 0);
  EXPECT_EQ(contents_of(folder_ + "/out/runs/mine.json"), "mine");
}

TEST_F(PlanCommand, CtrlCKeepsWhatIsDone) {
  std::ofstream{folder_ + "/x.toml"}
      << "[plan]\ngpus = 64\npackets = 1e9\n[vary]\nnetwork = \"roce\"\nswitch_ports = 64\n"
         "[[job]]\nkind = \"all-to-all\"\nsize = \"4 GB\"\n";
  const test::Outcome ended =
      test::nerve("plan " + folder_ + "/x.toml --jobs 1 --out " + folder_ + "/out",
                  "timeout --foreground --preserve-status --signal=INT 5");
  EXPECT_EQ(ended.exit_code, 130) << ended.text;
  EXPECT_TRUE(contains(ended.text, "--resume continues with them")) << ended.text;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/out/plan.json"));
}

TEST_F(PlanCommand, RefusesBadFilesAndCommandLines) {
  EXPECT_EQ(test::nerve("plan").exit_code, 2);
  EXPECT_EQ(plan("--explain 1").exit_code, 2);
  const test::Outcome wrong = plan("--set plan.gpus=none");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(contains(wrong.text, "command line: plan.gpus: \"none\" is not a whole number"))
      << wrong.text;
  const test::Outcome limited = plan("--quiet --set limits.capital=1000 --out " + folder_ + "/out");
  EXPECT_EQ(limited.exit_code, 1);
  EXPECT_TRUE(contains(limited.text, "No candidate can be built within the limits."))
      << limited.text;
  EXPECT_TRUE(contains(test::nerve("plan --market").text, "InfiniBand"));
  EXPECT_TRUE(contains(test::nerve("plan --prices").text, "8-GPU server"));
  EXPECT_TRUE(contains(test::nerve("plan --keys").text, "oversubscription"));
}

TEST(PlanPage, HoldsThePlan) {
  const std::string page = plan_page("{\"name\": \"</script>\"}");
  EXPECT_TRUE(contains(page, "class=\"nerve-plan\">{\"name\":\"\\u003c/script>\"}</script>"));
  EXPECT_FALSE(contains(page, "<!--plan-->"));
}

}  // namespace nerve::cli
