// Goal: the report shows what was measured: the best, the spread, ratios, aims. Method: a small
// plan with made-up samples.
#include "bench/live/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace nerve::bench {
namespace {

Figure figure(const std::string& name, Unit unit) {
  Figure made;
  made.name = name;
  made.unit = unit;
  return made;
}

// A latency with a baseline, and a rate without one.
Plan small_plan() {
  Plan plan;
  plan.add(figure("a", Unit::kMicroseconds), figure("b", Unit::kMicroseconds),
           Aim{Aim::Kind::kAtMost, 1.5});
  plan.add(figure("c", Unit::kMillions), std::nullopt, Aim{Aim::Kind::kAtLeast, 5});
  return plan;
}

}  // namespace

TEST(LiveReport, BestIsTheLowestTimeOrTheHighestRate) {
  const Samples samples{.values = {4, 2, 3}, .failure = {}};
  EXPECT_EQ(best(samples, Unit::kMicroseconds), 2);
  EXPECT_EQ(best(samples, Unit::kGigabytes), 4);
  EXPECT_EQ(best(samples, Unit::kPercent), 2);
  EXPECT_EQ(spread(samples, Unit::kMicroseconds), 1);
  EXPECT_EQ(spread(samples, Unit::kMillions), 0.5);
  EXPECT_EQ(best({}, Unit::kGigabytes), std::nullopt);
  EXPECT_EQ(spread({}, Unit::kGigabytes), 0);
}

TEST(LiveReport, TableOfRatiosAndAims) {
  const Plan plan = small_plan();
  const Results results{.plan = plan, .samples = {{{3, 3.3}, {}}, {{2}, {}}, {{4}, {}}}};
  EXPECT_TRUE(results.complete());
  EXPECT_EQ(table(results),
            "| work | ours           | beside it  | ratio | aim      |        |\n"
            "|------|----------------|------------|-------|----------|--------|\n"
            "| a    | 3.00 us (10 %) | b: 2.00 us | 1.50  | <= 1.5   | met    |\n"
            "| c    | 4.00 M/s       |            |       | >= 5 M/s | MISSED |\n");
}

TEST(LiveReport, FailedFiguresHaveNoVerdict) {
  const Plan plan = small_plan();
  const Results results{.plan = plan, .samples = {{{3}, {}}, {{}, "exit code 1"}, {{0}, {}}}};
  EXPECT_FALSE(results.complete());
  EXPECT_EQ(value_of(results, plan.lines[0]), std::nullopt);
  EXPECT_EQ(failures(results), "b: exit code 1\n");
  EXPECT_NE(table(results).find("b: failed |       | <= 1.5   | ?"), std::string::npos)
      << table(results);
}

TEST(LiveReport, JsonHoldsEverySample) {
  const Plan plan = small_plan();
  const Results results{.plan = plan, .samples = {{{3, 4}, {}}, {{2}, {}}, {{}, "gone"}}};
  Circumstances circumstances;
  circumstances.commit = "abc";
  circumstances.cpus = 2;
  const auto read = nlohmann::json::parse(json(results, circumstances));
  EXPECT_EQ(read["commit"], "abc");
  EXPECT_EQ(read["machine"]["cpus"], 2);
  EXPECT_EQ(read["figures"][0]["samples"], (std::vector<double>{3, 4}));
  EXPECT_EQ(read["figures"][2]["failure"], "gone");
  EXPECT_EQ(read["lines"][0]["ratio"], 1.5);
  EXPECT_EQ(read["lines"][0]["met"], true);
  EXPECT_FALSE(read["lines"][1].contains("met"));
}

}  // namespace nerve::bench
