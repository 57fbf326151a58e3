// `nerve sweep`: its combinations, its processes, its table.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/sweep_plan.h"
#include "cli/sweep_pool.h"
#include "cli/sweep_table.h"
#include "tests/cli/program.h"

namespace nerve::cli {
namespace {

Axis axis(const std::string& text) {
  const auto parsed = parse_axis(text);
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Axis{};
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST(SweepPlan, EveryCombinationIsARun) {
  const std::vector<Axis> axes{axis("fabric.routing=ecmp,spray"), axis("nic.qps_per_pair=1,4,8")};
  const std::vector<Cell> cells = cells_of(axes);
  ASSERT_EQ(cells.size(), 6U);
  EXPECT_EQ(name_of(cells[0]), "routing=ecmp, qps_per_pair=1");
  EXPECT_EQ(name_of(cells[5]), "routing=spray, qps_per_pair=8");
  EXPECT_EQ(axis("job.0.size=1 MB,\"2,5 MB\"").values[1], "\"2,5 MB\"");
  EXPECT_FALSE(parse_axis("fabric.routing"));
  EXPECT_FALSE(parse_axis("fabric.routing="));
  EXPECT_FALSE(parse_axis("fabric.routing=a,,b"));
  Axis long_one{"seed", std::vector<std::string>(101, "1")};
  EXPECT_TRUE(cells_of({long_one, long_one}).empty());
}

TEST(SweepPool, RunsAllAndReportsFailures) {
  SweepPool pool{5, 2};
  std::vector<std::string> outcome(5, "?");
  std::size_t most = 0;
  const bool to_the_end = pool.run(
      [](std::size_t number, RunStatus& status) {
        status.events = 10;
        if (number == 1) status.fail("it was number one");
        if (number == 3) (void)::raise(SIGKILL);
        return number != 1;
      },
      [&](std::size_t number, const Done& done) {
        outcome[number] = done.well ? "well" : done.why;
      },
      [&](std::size_t, std::size_t running, std::uint64_t) { most = std::max(most, running); });
  EXPECT_TRUE(to_the_end);
  EXPECT_EQ(outcome[0], "well");
  EXPECT_EQ(outcome[1], "it was number one");
  EXPECT_EQ(outcome[2], "well");
  EXPECT_TRUE(has(outcome[3], "ended by signal 9")) << outcome[3];
  EXPECT_EQ(outcome[4], "well");
  EXPECT_LE(most, 2U);
}

TEST(SweepTable, ShowsOnlyUsedColumns) {
  const std::vector<Axis> axes{axis("fabric.routing=ecmp,spray,flowlet")};
  std::vector<SweepRow> rows;
  for (const Cell& cell : cells_of(axes)) rows.push_back({cell, "000/result.json", {}, ""});
  rows[0].figures =
      Figures{.completion_ps = 2'500'000'000, .bus_bandwidth = 40e9, .all_done = true};
  rows[0].figures->totals.pauses = 1200;
  rows[1].figures =
      Figures{.completion_ps = 1'000'000'000, .bus_bandwidth = 45e9, .all_done = true};
  rows[2].error = "no way leads there";
  rows.push_back({rows[2].cell, "003/result.json", {}, ""});
  EXPECT_EQ(sweep_table(axes, rows),
            "fabric.routing  completion  bus GB/s  pauses   wall\n"
            "ecmp                2.5 ms      40.0   1.2 k  0.0 s\n"
            "spray                 1 ms      45.0       0  0.0 s\n"
            "flowlet         FAILED: no way leads there\n"
            "flowlet         not run\n");
  const auto json = nlohmann::json::parse(sweep_json("x", axes, rows), nullptr, false);
  ASSERT_FALSE(json.is_discarded());
  EXPECT_EQ(json["runs"].size(), 4U);
  EXPECT_EQ(json["runs"][0]["values"]["fabric.routing"], "ecmp");
  EXPECT_EQ(json["runs"][0]["completion_ps"], 2'500'000'000);
  EXPECT_EQ(json["runs"][2]["error"], "no way leads there");
  EXPECT_EQ(json["runs"][3]["error"], "not run");
}

TEST(SweepTable, FiguresComeFromTheResult) {
  sim::RunResult result;
  result.simulated = Duration{5000};
  sim::JobResult job;
  job.done = true;
  for (int i = 1; i <= 100; ++i) {
    sim::FlowResult flow;
    flow.end = Time{Duration{i * 10}};
    flow.ideal = Duration{10};
    job.flows.push_back(flow);
  }
  job.ranks = {{.compute = 75, .exposed = 25}};
  result.jobs = {job};
  const Figures figures = figures_of(result);
  EXPECT_EQ(figures.completion_ps, 5000U);
  EXPECT_EQ(figures.slowdown_p99, 99);
  EXPECT_EQ(figures.exposed, 0.25);
  EXPECT_TRUE(figures.all_done);
}

TEST(Sweep, WritesATableAPageAndEachResult) {
  const std::string folder = testing::TempDir() + "nerve_sweep";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  std::ofstream{folder + "/x.toml"} << "[servers]\ncount = 2\ngpus = 1\n[fabric]\n"
                                       "topology = \"star\"\n[[job]]\nkind = \"permutation\"\n"
                                       "size = \"64 KB\"\n";
  const std::string sweep = "sweep " + folder + "/x.toml --out " + folder + "/out ";
  const test::Outcome run = test::nerve(sweep + "--vary 'job.0.size=4 KB,1 MB' --vary seed=1,2");
  EXPECT_EQ(run.exit_code, 0) << run.text;
  EXPECT_TRUE(has(run.text, "job.0.size  seed  completion")) << run.text;
  for (const char* file : {"sweep.json", "report.html", "000/result.json", "003/result.json"}) {
    EXPECT_TRUE(std::filesystem::exists(folder + "/out/" + file)) << file;
  }
  EXPECT_EQ(test::nerve(sweep).exit_code, 2);
  EXPECT_EQ(test::nerve(sweep + "--vary nothing").exit_code, 2);
  const test::Outcome wrong = test::nerve(sweep + "--vary fabric.topology=star,stra");
  EXPECT_EQ(wrong.exit_code, 1);
  EXPECT_TRUE(has(wrong.text, "this error is for topology=stra")) << wrong.text;

  // After Ctrl-C, completed runs are kept, and results of an earlier sweep are not mistaken for
  // this one's.
  const test::Outcome ended = test::nerve(sweep + "--jobs 1 --vary 'job.0.size=4 KB,1 TB,2 TB'",
                                          "timeout --foreground --preserve-status --signal=INT 3");
  EXPECT_EQ(ended.exit_code, 130) << ended.text;
  EXPECT_TRUE(has(ended.text, "interrupted; 1 of 3 runs were done")) << ended.text;
  EXPECT_TRUE(has(ended.text, "2 TB        not run")) << ended.text;
  EXPECT_TRUE(std::filesystem::exists(folder + "/out/000/result.json"));
  EXPECT_FALSE(std::filesystem::exists(folder + "/out/001/result.json"));
  std::filesystem::remove_all(folder);
}

TEST(Sweep, ResumesWithTheRunsOfTheSameSweep) {
  namespace fs = std::filesystem;
  const std::string folder = testing::TempDir() + "nerve_resume";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream{folder + "/x.toml"} << "[servers]\ncount = 2\ngpus = 1\n[fabric]\n"
                                       "topology = \"star\"\n[[job]]\nkind = \"permutation\"\n"
                                       "size = \"64 KB\"\n";
  const std::string sweep = "sweep " + folder + "/x.toml --out " + folder + "/out --vary seed=1,2 ";
  const fs::path kept = folder + "/out/000/result.json";
  const fs::path lost = folder + "/out/001/result.json";
  EXPECT_EQ(test::nerve(sweep).exit_code, 0);
  const auto written = fs::last_write_time(kept);
  fs::remove(lost);
  const test::Outcome resumed = test::nerve(sweep + "--resume");
  EXPECT_EQ(resumed.exit_code, 0) << resumed.text;
  EXPECT_EQ(fs::last_write_time(kept), written);
  EXPECT_TRUE(fs::exists(lost));
  EXPECT_EQ(test::nerve(sweep + "--resume --set 'job.0.size=32 KB'").exit_code, 0);
  EXPECT_NE(fs::last_write_time(kept), written) << "a result of another scenario was kept";
  fs::remove_all(folder);
}

}  // namespace nerve::cli
