// Goal: the variables select exactly the seeds that they name, and a misspelt one is an error.
#include "tests/seeds/plan.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace nerve::test {
namespace {

using Environment = std::map<std::string, std::string>;

SeedPlan plan(const Environment& set, std::string* told = nullptr) {
  std::string error;
  const SeedPlan made = plan_seeds(
      200,
      [&](const char* name) {
        const auto found = set.find(name);
        return found != set.end() ? found->second.c_str() : nullptr;
      },
      error);
  if (told != nullptr) {
    *told = error;
  } else {
    EXPECT_EQ(error, "");
  }
  return made;
}

TEST(SeedPlan, TheTestsOwnCountOnAllCoresUnlessToldOtherwise) {
  EXPECT_EQ(plan({}), (SeedPlan{.first = 1, .last = 200, .jobs = usable_cores()}));
}

TEST(SeedPlan, SeedsAreACountOrARange) {
  EXPECT_EQ(plan({{"NERVE_SEEDS", "1000000"}, {"NERVE_JOBS", "3"}}),
            (SeedPlan{.first = 1, .last = 1'000'000, .jobs = 3}));
  const SeedPlan range = plan({{"NERVE_SEEDS", "1000001-10000000"}, {"NERVE_FAILURES", "1"}});
  EXPECT_EQ(range.first, 1'000'001U);
  EXPECT_EQ(range.last, 10'000'000U);
  EXPECT_EQ(range.count(), 9'000'000U);
  EXPECT_EQ(range.failures, 1U);
}

TEST(SeedPlan, NoMoreWorkersThanSeeds) {
  EXPECT_EQ((SeedPlan{.first = 11, .last = 13, .jobs = 64}).workers(), 3U);
  EXPECT_EQ((SeedPlan{.last = 1000, .jobs = 64}).workers(), 64U);
}

TEST(SeedPlan, MostSeedsLimitsBoth) {
  EXPECT_EQ(plan({{"NERVE_MOST_SEEDS", "5"}}).last, 5U);
  EXPECT_EQ(plan({{"NERVE_MOST_SEEDS", "500"}}).last, 200U);
  EXPECT_EQ(plan({{"NERVE_MOST_SEEDS", "5"}, {"NERVE_SEEDS", "11-100"}}).last, 15U);
}

TEST(SeedPlan, OneSeedIsReplayedWhateverElseIsSet) {
  for (const char* seed : {"0", "7", "12345678901"}) {
    const SeedPlan one =
        plan({{"NERVE_SEED", seed}, {"NERVE_SEEDS", "3-4"}, {"NERVE_MOST_SEEDS", "1"}});
    EXPECT_EQ(std::to_string(one.first), seed);
    EXPECT_EQ(one.count(), 1U);
  }
}

TEST(SeedPlan, WhatIsNoNumberIsAnError) {
  for (const Environment& wrong : {Environment{{"NERVE_SEEDS", "many"}},
                                   {{"NERVE_SEEDS", "0"}},
                                   {{"NERVE_SEEDS", "9-3"}},
                                   {{"NERVE_SEEDS", "0-3"}},
                                   {{"NERVE_SEEDS", "1-"}},
                                   {{"NERVE_SEEDS", "-3"}},
                                   {{"NERVE_SEED", "0x1g"}},
                                   {{"NERVE_SEED", ""}},
                                   {{"NERVE_MOST_SEEDS", "0"}},
                                   {{"NERVE_FAILURES", "0"}},
                                   {{"NERVE_JOBS", "all"}}}) {
    std::string told;
    plan(wrong, &told);
    EXPECT_EQ(told.find(wrong.begin()->first + "=" + wrong.begin()->second), 0U) << told;
  }
}

}  // namespace
}  // namespace nerve::test
