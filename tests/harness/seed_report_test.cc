// Goal: a test that tries seeds in parallel fails if one of them does, prints the reason and the
// replay command, and reports it in the file of NERVE_PROGRESS. Method: this program runs itself
// with a test that is meant to fail.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/seeds.h"

namespace nerve::test {
namespace {

// Passes unless the test below runs it.
TEST(SeedsMeantToFail, Three) {
  const bool fails = std::getenv("SEEDS_MEANT_TO_FAIL") != nullptr;
  for_each_seed_in_parallel(100, [&](std::uint64_t seed) {
    if (!fails) return;
    EXPECT_NE(seed % 40, 0U) << "seed " << seed << " is a multiple of forty";
    if (seed == 33) std::abort();
  });
}

struct Ended {
  int status{};
  std::string output;
};

Ended run_failing_seeds(const std::string& variables) {
  // Removes the settings that the developer chose for this test run.
  const std::string command =
      "env -u NERVE_SEED -u NERVE_SEEDS -u NERVE_MOST_SEEDS -u NERVE_FAILURES -u NERVE_PROGRESS "
      "SEEDS_MEANT_TO_FAIL=1 " +
      variables + " '" + std::string(std::filesystem::read_symlink("/proc/self/exe")) +
      "' --gtest_filter=SeedsMeantToFail.Three 2>&1";
  Ended run;
  FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer{};
  while (const std::size_t size = fread(buffer.data(), 1, buffer.size(), pipe)) {
    run.output.append(buffer.data(), size);
  }
  run.status = pclose(pipe);
  return run;
}

std::string replay(int seed) {
  return "replay: NERVE_SEED=" + std::to_string(seed) + " ./nerve test SeedsMeantToFail.Three";
}

TEST(SeedReport, NamesEachSeedThatFailed) {
  for (const char* jobs : {"NERVE_JOBS=1", "NERVE_JOBS=5"}) {
    const Ended run = run_failing_seeds(jobs);
    EXPECT_NE(run.status, 0);
    for (const int seed : {33, 40, 80}) {
      EXPECT_NE(run.output.find(replay(seed)), std::string::npos) << seed << run.output;
    }
    EXPECT_NE(run.output.find("seed 40 is a multiple of forty"), std::string::npos) << run.output;
    EXPECT_NE(run.output.find("seed 33 ended by signal 6"), std::string::npos) << run.output;
    EXPECT_EQ(run.output.find(replay(41)), std::string::npos) << run.output;
  }
}

TEST(SeedReport, ReplaysASeedInOneProcess) {
  const Ended bad = run_failing_seeds("NERVE_SEED=80");
  EXPECT_NE(bad.status, 0);
  EXPECT_NE(bad.output.find(replay(80)), std::string::npos) << bad.output;
  EXPECT_EQ(run_failing_seeds("NERVE_SEED=41").status, 0);
}

TEST(SeedReport, WritesFailuresToTheProgressFile) {
  const std::string file = ::testing::TempDir() + "nerve_progress_" + std::to_string(getpid());
  std::ofstream{file};
  run_failing_seeds("NERVE_SEEDS=34-100 NERVE_PROGRESS=" + file);
  std::ifstream written{file};
  const std::string lines{std::istreambuf_iterator<char>{written}, {}};
  EXPECT_NE(lines.find("failed SeedsMeantToFail.Three 40\n"), std::string::npos) << lines;
  EXPECT_NE(lines.find("failed SeedsMeantToFail.Three 80\n"), std::string::npos) << lines;
  EXPECT_EQ(lines.find(" 33\n"), std::string::npos) << lines;
  std::remove(file.c_str());
}

TEST(SeedReport, AWrongVariableFailsTheTest) {
  const Ended run = run_failing_seeds("NERVE_SEEDS=many");
  EXPECT_NE(run.status, 0);
  EXPECT_NE(run.output.find("NERVE_SEEDS=many is not a number of seeds"), std::string::npos);
}

}  // namespace
}  // namespace nerve::test
