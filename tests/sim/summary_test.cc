// Goal: the summary shows a result with units, in columns. Method: the text of a result with every
// field, line by line.
#include "sim/results/summary.h"

#include <gtest/gtest.h>

#include "sim/results/quantity.h"
#include "sim/results/text_table.h"
#include "sim/results/tiers.h"
#include "tests/sim/sample_result.h"

namespace nerve::sim {
namespace {

TEST(Quantity, HasAUnitThatFits) {
  EXPECT_EQ(time_text(Duration{0}), "0");
  EXPECT_EQ(time_text(Duration{999}), "999 ps");
  EXPECT_EQ(time_text(Duration{12'345'678}), "12.35 us");
  EXPECT_EQ(time_text(Duration{999'960'000}), "1 ms");
  EXPECT_EQ(time_text(2e15), "2000 s");
  EXPECT_EQ(bytes_text(0), "0");
  EXPECT_EQ(bytes_text(1'500'000), "1.5 MB");
  EXPECT_EQ(bit_rate_text(400e9), "400 Gb/s");
  EXPECT_EQ(byte_rate_text(46.23e9), "46.23 GB/s");
  EXPECT_EQ(count_text(9'999), "9999");
  EXPECT_EQ(count_text(12'400'000), "12.4 M");
  EXPECT_EQ(share_text(0.1234), "12.3 %");
  EXPECT_EQ(plain("a\x1b[2Jb\n"), "a?[2Jb?");
}

TEST(TextTable, PutsNumbersToTheRight) {
  TextTable table{{"name", "n"}};
  EXPECT_TRUE(table.empty());
  table.add({"caf\xc3\xa9", "1"});
  table.add({"longer one", "1000"});
  EXPECT_EQ(table.text(1),
            " name           n\n"
            " caf\xc3\xa9           1\n"
            " longer one  1000\n");
}

TEST(Tiers, AreNamedAfterTheirNodes) {
  const std::vector<NodeResult> nodes{{"nic0", 0, false},      {"storage0", 0, false},
                                      {"pod0-leaf1", 1, true}, {"pod1-leaf0", 1, true},
                                      {"spine0", 3, true},     {"core0", 3, true}};
  EXPECT_EQ(tier_names(nodes), (std::vector<std::string>{"nic", "pod-leaf", "tier2", "tier3"}));
}

TEST(Summary, ShowsEveryPartOfTheResult) {
  const std::string text = summary(test::sample_result());
  for (const char* const expected : {
           "sample: all of it\n",
           "2 nic, 1 leaf; 2 switch ports, 2 cables: 2 x 100 Gb/s\n",
           "310 us, seed 18446744073709551601\n",
           "train: ring all-reduce of 1 MB, 2 ranks\n",
           "300 us\n",
           "100 us on average of 3, 90 us to 110 us\n",
           "80 us (2 S (N - 1)/N at 100 Gb/s)\n",
           "25.0 %\n",
           "10 GB/s of 12.5 GB/s at the bound (80.0 %)\n",
           "32.5 % of their time waiting for the network; worst rank 40.0 %\n",
           "one flow did not end\n",
           "4 ended, 1 did not\n",
           "leaf0>nic1     75.0 %     2 MB",
           "7 pauses, 12 us summed over all ports\n",
           "20 ECN marks (1.0 % of data packets), 15 CNPs received\n",
           "3 dropped in switches, 1 on cables\n",
           "40 retransmitted (2.0 %), 2 timeouts\n",
           "7 ps of CPU time, summed over all cores\n",
           "1 messages were not delivered\n",
           "a cable failed: \"leaf0\" \\ nic1\n",
           "123.5 k events in 500 ms, 246.9 k events/s, 12 MB\n",
       }) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\nin\n" << text;
  }
}

TEST(Summary, EmptyResultIsShort) {
  const std::string text = summary({});
  EXPECT_EQ(text.find("nan"), std::string::npos) << text;
  EXPECT_EQ(text.find("inf"), std::string::npos) << text;
  EXPECT_EQ(text.find("processor"), std::string::npos) << "there are no TCP hosts";
}

TEST(Summary, SaysWhyAndWhatTrialsHaveShown) {
  RunResult result = test::sample_result();
  result.why[0].paragraph =
      "A step took 100 us, and there are many reasons for that, which are so "
      "long in words that they need two lines.";
  result.trials.push_back({.set = {"nic.congestion=no\nne"}, .error = "no such word"});
  result.trials.push_back({.set = {"fabric.pfc=false"}, .done = true, .takes_away = -0.5});
  result.trials.push_back({.set = {"fabric.pfc=true"}});
  result.trials.push_back({.set = {"seed=2"}, .done = true, .takes_away = 0.001});
  const std::string text = summary(result);
  const auto has = [&](std::string_view words) { return text.find(words) != std::string::npos; };
  EXPECT_TRUE(has("  why               A step took 100 us")) << text;
  EXPECT_TRUE(has("\n                    words that they need two lines.\n")) << text;
  EXPECT_TRUE(has("explained: train")) << text;
  EXPECT_TRUE(has("takes away 81 %")) << text;
  EXPECT_TRUE(has("adds 50 %")) << text;
  EXPECT_TRUE(has("does not finish")) << text;
  EXPECT_TRUE(has("changes nothing")) << text;
  EXPECT_TRUE(has("nic.congestion=no?ne")) << text;
  EXPECT_TRUE(has("cannot run: no such word")) << text;
}

TEST(Comparison, ShowsRatiosToTheFirstRun) {
  std::vector<RunResult> results(3, test::sample_result());
  results[1].scenario = "other";
  results[1].jobs[0].end += std::chrono::microseconds{300};
  results[1].totals.pauses = 0;
  results[2].jobs.pop_back();
  const std::string text = comparison(results);
  EXPECT_NE(text.find("train: completion time               300 us            600 us  2.00 x"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("0.00 x"), std::string::npos) << text;
  EXPECT_NE(text.find("switch ports"), std::string::npos) << text;
  EXPECT_NE(text.find("burst: FCT p50"), std::string::npos) << text;
  EXPECT_EQ(text.find("burst: completion time"), std::string::npos) << "nobody finished it";
}

TEST(Summary, ShowsEachCauseOnALineOfItsOwn) {
  RunResult result = test::sample_result();
  JobWhy& why = result.why[0];
  why.causes = {{.text = "At most 67 % of it: queues."},
                {.text = "About 12 % of it: latency."},
                {.text = "Not shown."}};
  why.paragraph = "It took 2 s. At most 67 % of it: queues. About 12 % of it: latency. Try: less.";
  EXPECT_EQ(pieces_of(why), (std::vector<std::string>{"It took 2 s.", "At most 67 % of it: queues.",
                                                      "About 12 % of it: latency.", "Try: less."}));
  const std::string text = summary(result);
  EXPECT_NE(text.find("  why               It took 2 s.\n"
                      "                    At most 67 % of it: queues.\n"
                      "                    About 12 % of it: latency.\n"
                      "                    Try: less.\n"),
            std::string::npos)
      << text;
  why.causes.clear();
  EXPECT_EQ(pieces_of(why), std::vector<std::string>{why.paragraph});
}

TEST(Comparison, LabelsRunsOfOneScenarioBySeedOrIndex) {
  std::vector<RunResult> results(2, test::sample_result());
  EXPECT_NE(comparison(results).find("sample (1)        sample (2)"), std::string::npos)
      << comparison(results);
  results[1].seed = 7;
  EXPECT_NE(comparison(results).find("sample, seed 7"), std::string::npos) << comparison(results);
}

TEST(Comparison, AcceptsZeroRunsAndOneRun) {
  EXPECT_EQ(comparison({}), "\nhash\n");
  EXPECT_NE(comparison(std::vector{test::sample_result()}).find("sample"), std::string::npos);
}

}  // namespace
}  // namespace nerve::sim
