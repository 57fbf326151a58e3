// Goal: plans whose best answer is known get it.
#include <gtest/gtest.h>

#include <algorithm>

#include "sim/plan/plan_report.h"
#include "tests/plan/worked.h"

namespace nerve::sim::plan {
namespace {

// 64 GPUs and switches with 32 ports, so that one is not enough.
std::string plan_text(const std::string& topologies, const std::string& job) {
  return "[plan]\ngpus = 64\nfinalists = 4\nseeds = 2\n"
         "[vary]\nnetwork = \"roce\"\nswitch_ports = 32\noversubscription = [1, 2, 4]\n"
         "topology = " +
         topologies + "\n[nic]\nqps_per_pair = 1\n[[job]]\n" + job;
}

const char* const kAll = R"(["leaf-spine", "fat-tree", "rail-optimised", "rail-only"])";
const char* const kAnyToAny = R"(["leaf-spine", "fat-tree", "rail-optimised"])";

}  // namespace

TEST(PlanAnswers, WithoutCommunicationTheCheapestNetworkWins) {
  const Worked worked =
      worked_out(plan_text(kAll, "kind = \"all-reduce\"\nranks = 8\nsize = \"1 MB\"\n"));
  ASSERT_NE(worked.conclusion.best, 0U);
  double cheapest = worked.best().total().typical;
  for (const Option& option : worked.study.options) {
    if (!option.bill.lines.empty()) cheapest = std::min(cheapest, option.total().typical);
  }
  EXPECT_EQ(worked.best().total().typical, cheapest) << worked.conclusion.advice;
}

// Estimates of the first wave are enough to know that what costs more cannot be faster.
TEST(PlanAnswers, BoundsPruneWhatCannotBeBetter) {
  const Worked worked = worked_out(
      "[plan]\ngpus = 64\nfinalists = 1\nseeds = 1\n[vary]\nnetwork = \"roce\"\n"
      "[[job]]\nkind = \"shift\"\nshift = 8\nsize = \"2 MB\"\n");
  std::size_t pruned = 0;
  for (const Option& option : worked.study.options) {
    if (option.state != State::kPruned) continue;
    ++pruned;
    EXPECT_NE(option.reason.find("costs no less than"), std::string::npos) << option.reason;
    EXPECT_GE(option.total().typical, worked.best().total().typical);
  }
  EXPECT_GT(pruned, 0U);
}

TEST(PlanAnswers, ForAnAllToAllFullBisectionWins) {
  const Worked worked =
      worked_out(plan_text(kAnyToAny,
                           "kind = \"all-to-all\"\nalgorithm = \"direct\"\nsize = \"2 MB\"\n"
                           "[fabric]\nrouting = \"spray\"\n"));
  ASSERT_NE(worked.conclusion.best, 0U);
  EXPECT_EQ(worked.best().candidate.oversubscription, 1) << worked.conclusion.advice;
}

// Where GPUs of a server are connected by little more than a NIC, crossing it costs what it saves.
TEST(PlanAnswers, WithASlowInterconnectRailsDoNotCarryAnAllToAll) {
  const Worked worked = worked_out(
      plan_text(kAll,
                "kind = \"all-to-all\"\nalgorithm = \"direct\"\nsize = \"2 MB\"\n"
                "[fabric]\nrouting = \"spray\"\n[servers]\ninterconnect = \"32 GB/s\"\n"));
  ASSERT_NE(worked.conclusion.best, 0U);
  EXPECT_NE(worked.best().candidate.topology, TopologyKind::kRailOnly) << worked.conclusion.advice;
  EXPECT_EQ(worked.best().candidate.oversubscription, 1) << worked.conclusion.advice;
}

TEST(PlanAnswers, ForTrafficOnRailsRailOnlyWins) {
  const Worked worked =
      worked_out(plan_text(kAll, "kind = \"shift\"\nshift = 8\nsize = \"2 MB\"\n"));
  ASSERT_NE(worked.conclusion.best, 0U);
  EXPECT_EQ(worked.best().candidate.topology, TopologyKind::kRailOnly) << worked.conclusion.advice;
}

// Nothing depends on the order in which runs end, and so on the number of cores.
TEST(PlanAnswers, DoNotDependOnTheOrderOfRuns) {
  const std::string text = plan_text(kAll, "kind = \"shift\"\nshift = 8\nsize = \"256 KB\"\n");
  const Worked one = worked_out(text);
  const Worked two = worked_out(text, {.backwards = true});
  EXPECT_EQ(plan_json(one.study, one.conclusion), plan_json(two.study, two.conclusion));
  EXPECT_EQ(plan_table(one.study, one.conclusion), plan_table(two.study, two.conclusion));
}

TEST(PlanAnswers, LimitsExclude) {
  const Worked worked = worked_out(plan_text(
      kAll, "kind = \"shift\"\nshift = 8\nsize = \"256 KB\"\n[limits]\npower = \"100 kW\"\n"));
  // Eight servers draw 80 kW, and 100 with cooling.
  EXPECT_EQ(worked.conclusion.best, 0U);
  EXPECT_EQ(worked.conclusion.advice, "No candidate can be built within the limits.");
  for (const Option& option : worked.study.options) EXPECT_EQ(option.state, State::kRefused);
}

TEST(PlanAnswers, ExplainSaysWhichIsBetterAndWhy) {
  const Worked worked =
      worked_out(plan_text(kAll, "kind = \"shift\"\nshift = 8\nsize = \"256 KB\"\n"));
  ASSERT_GE(worked.conclusion.ranking.size(), 2U);
  const Option& best = worked.study.options[worked.conclusion.ranking[0] - 1];
  const Option& other = worked.study.options[worked.conclusion.ranking[1] - 1];
  const auto lines = explain(worked.study, best, other);
  EXPECT_NE(lines.front().find("beats"), std::string::npos) << lines.front();
  EXPECT_EQ(lines.front().find("does not"), std::string::npos) << lines.front();
  const auto reverse = explain(worked.study, other, best);
  EXPECT_NE(reverse.front().find("does not beat"), std::string::npos) << reverse.front();
  const bool has_cost = std::ranges::any_of(
      lines, [](const std::string& line) { return line.starts_with("Cost: "); });
  EXPECT_TRUE(has_cost);
}

TEST(PlanAnswers, PricesHaveNoExponent) {
  EXPECT_EQ(price_text(59'430.4), "$59430");
  EXPECT_EQ(price_text(1154.2), "$1154");
  EXPECT_EQ(price_text(700), "$700");
  EXPECT_EQ(price_text(0.0912), "$0.0912");
}

}  // namespace nerve::sim::plan
