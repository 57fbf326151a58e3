// Goal: with a graph from a file, the cables of the NICs decide about bounds, ideal times and
// congestion control, and a nic_rate that contradicts them is refused. Method: small files, with
// NICs of one rate and of several.
#include <gtest/gtest.h>

#include <fstream>

#include "sim/run.h"
#include "sim/run_setup.h"
#include "sim/scenario/scenario_file.h"

namespace nerve::sim {
namespace {

// Tests run at the same time.
std::string name_of_file() {
  return std::string{testing::UnitTest::GetInstance()->current_test_info()->name()} + ".txt";
}

// A star; NIC i has cables of the i-th rate.
std::string write_star(const std::vector<std::string>& rates) {
  const std::string file = testing::TempDir() + name_of_file();
  std::ofstream graph{file};
  graph << "switch s\n";
  for (std::size_t i = 0; i < rates.size(); ++i) {
    graph << "nic n" << i << "\ncable n" << i << " s " << rates[i] << " 1us\n";
  }
  return file;
}

Scenario star_of(const std::vector<std::string>& rates) {
  Scenario scenario;
  scenario.servers = {.count = static_cast<std::uint32_t>(rates.size()), .gpus = 1, .nics = 1};
  scenario.back_end.topology = TopologyKind::kFile;
  scenario.back_end.file = write_star(rates);
  return scenario;
}

void add_shift(Scenario& scenario, std::uint32_t shift) {
  scenario.jobs.push_back(
      {.name = "shift",
       .stragglers = {},
       .work = FlowsSpec{
           .pattern = FlowPattern::kShift, .bytes = 4'000'000, .shift = shift, .file = {}}});
}

double slowdown(const FlowResult& flow) {
  return static_cast<double>((flow.end - flow.start).count()) /
         static_cast<double>(flow.ideal.count());
}

Rate additive_increase(const Scenario& scenario) {
  CheckedMemory payload;
  const auto setup = set_up(scenario, payload);
  EXPECT_TRUE(setup) << setup.error();
  return setup ? setup->networks[0].nics.engine.flow_control.dcqcn.additive_increase : Rate{};
}

constexpr const char* kScenario = R"([servers]
count = 2
gpus = 1
[fabric]
topology = "file"
file = "FILE"
nic_rate = "400 Gb/s"
[[job]]
kind = "incast"
size = "1 MB"
)";

// What a run of kScenario answers.
std::string answer(std::span<const Override> overrides) {
  std::string text = kScenario;
  text.replace(text.find("FILE"), 4, name_of_file());
  const auto scenario = read_scenario(text, testing::TempDir() + "x.toml", overrides);
  EXPECT_TRUE(scenario) << text_of(scenario.error()[0]);
  if (!scenario) return "";
  const auto result = run(*scenario);
  return result ? "runs" : result.error();
}

}  // namespace

TEST(NicRate, IsThatOfTheCablesInTheFile) {
  Scenario scenario = star_of({"100G", "100G", "100G"});
  add_shift(scenario, 1);
  EXPECT_EQ(additive_increase(scenario), Rate::megabits(100));  // 40 at 40 Gb/s
  const auto result = run(scenario);
  ASSERT_TRUE(result) << result.error();
  ASSERT_EQ(result->jobs[0].flows.size(), 3U);
  for (const FlowResult& flow : result->jobs[0].flows) EXPECT_NEAR(slowdown(flow), 1, 0.01);
  EXPECT_NEAR(static_cast<double>(result->jobs[0].bound.count()), 4e6 * 8 / 100e9 * 1e12 * 1.02,
              1e6);
}

TEST(NicRate, OfAllCablesOfANicIsTheirSum) {
  Scenario scenario = star_of({"100G", "100G"});
  std::ofstream{scenario.back_end.file, std::ios::app}
      << "cable n0 s 50G 1us\ncable n1 s 50G 1us\n";
  add_shift(scenario, 1);
  EXPECT_EQ(additive_increase(scenario), Rate::megabits(150));
}

TEST(NicRate, MayDifferBetweenNics) {
  Scenario scenario = star_of({"400G", "100G", "400G", "400G"});
  add_shift(scenario, 1);
  const auto result = run(scenario);
  ASSERT_TRUE(result) << result.error();
  const JobResult& job = result->jobs[0];
  ASSERT_EQ(job.flows.size(), 4U);
  // 0 to 1 and 1 to 2 have a slow end; 2 to 3 and 3 to 0 do not.
  for (const FlowResult& flow : job.flows) {
    EXPECT_NEAR(slowdown(flow), 1, 0.02) << flow.from;
    const double at = flow.from < 2 ? 100e9 : 400e9;
    EXPECT_NEAR(static_cast<double>(flow.ideal.count()), 4e6 * 8 / at * 1e12 * 1.02 + 2e6, 1.5e6);
  }
  EXPECT_NEAR(static_cast<double>(job.bound.count()), 4e6 * 8 / 100e9 * 1e12 * 1.02, 1e6);
  EXPECT_EQ(additive_increase(scenario), Rate::megabits(100));
}

TEST(NicRate, IsLimitedByPcie) {
  Scenario scenario = star_of({"800G", "800G", "100G"});
  scenario.servers.pcie = Rate::gigabits(200);
  add_shift(scenario, 1);
  const auto result = run(scenario);
  ASSERT_TRUE(result) << result.error();
  for (const FlowResult& flow : result->jobs[0].flows) {
    EXPECT_NEAR(slowdown(flow), 1, 0.02) << flow.from;
  }
  ASSERT_EQ(result->links.size(), 6U);
  EXPECT_EQ(result->links[0].rate_bps, 200'000'000'000U);
  EXPECT_EQ(result->links[4].rate_bps, 100'000'000'000U);
  ASSERT_FALSE(result->remarks.empty());
  EXPECT_EQ(result->remarks[0], "NICs of 800 Gb/s are held to 200 by servers.pcie");
}

TEST(NicRate, OfTheScenarioMustAgreeWithTheCables) {
  const std::string folder = testing::TempDir();
  const std::string file = write_star({"100G", "100G"});
  EXPECT_EQ(answer({}), folder + "x.toml:7: fabric.nic_rate: 400 Gb/s, but the NICs in " + file +
                            " have cables of 100 Gb/s; leave nic_rate out, or change the file");
  const Override other{"fabric.nic_rate", "200 Gb/s"};
  EXPECT_EQ(answer({&other, 1}),
            "command line: fabric.nic_rate: 200 Gb/s, but the NICs in " + file +
                " have cables of 100 Gb/s; leave nic_rate out, or change the file");
  const Override same{"fabric.nic_rate", "100 Gb/s"};
  EXPECT_EQ(answer({&same, 1}), "runs");
  write_star({"100G", "400G"});
  EXPECT_EQ(answer({}), folder + "x.toml:7: fabric.nic_rate: 400 Gb/s, but the NICs in " + file +
                            " have cables of 100 Gb/s to 400 Gb/s; leave nic_rate out");
}

}  // namespace nerve::sim
