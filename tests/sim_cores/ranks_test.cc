// Goal: the result of a run does not depend on how many processes run it together, and one that
// fails ends the run of all with an error. Method: random scenarios; ranks that are threads.
#include <gtest/gtest.h>

#include <optional>

#include "random_scenario.h"
#include "sim/run.h"
#include "sim/scenario/scenario_file.h"
#include "thread_ranks.h"

namespace nerve::sim {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr std::uint64_t kForRanks = 4;
#else
constexpr std::uint64_t kForRanks = 16;
#endif

using Outcome = Result<RunResult, std::string>;

Scenario scenario_of(const std::string& text) {
  auto scenario = read_scenario(text, "test.toml", {});
  EXPECT_TRUE(scenario) << text_of(scenario.error()[0]) << "\n" << text;
  return *std::move(scenario);
}

// What each rank returns.
std::vector<Outcome> run_together(const Scenario& scenario, std::uint32_t ranks,
                                  std::uint32_t cores) {
  std::vector<Outcome> outcomes(ranks, Unexpected{std::string{"not run"}});
  run_as_ranks(ranks, [&](ThreadRank& rank) {
    RunOptions options;
    options.ranks = &rank;
    options.cores = cores;
    outcomes[rank.rank()] = run(scenario, options);
  });
  return outcomes;
}

constexpr const char* kSmall = R"([servers]
count = 8
gpus = 1
[fabric]
topology = "leaf-spine"
nic_rate = "100 Gb/s"
nics_per_leaf = 4
spines = 1
[[job]]
kind = "all-to-all"
size = "100 KB"
)";

}  // namespace

TEST(Ranks, TheirNumberDoesNotChangeTheResult) {
  for (std::uint64_t seed = 1; seed <= kForRanks; ++seed) {
    const std::string text = random_scenario(seed);
    const Scenario scenario = scenario_of(text);
    const Outcome alone = run(scenario);
    ASSERT_TRUE(alone) << alone.error() << "\n" << text;
    for (const auto& [ranks, cores] : {std::pair{2U, 1U}, {3U, 1U}, {2U, 2U}, {3U, 2U}}) {
      const std::vector<Outcome> all = run_together(scenario, ranks, cores);
      for (const Outcome& one : all) ASSERT_TRUE(one) << one.error() << "\n" << text;
      ASSERT_EQ(hash_of(*all[0]), hash_of(*alone)) << ranks << " ranks, " << cores << " cores\n"
                                                   << text;
      for (std::size_t i = 0; i < alone->why.size(); ++i) {
        ASSERT_EQ(all[0]->why[i].paragraph, alone->why[i].paragraph) << ranks << " ranks\n" << text;
      }
    }
  }
}

TEST(Ranks, ACableBetweenThemComesBackWithTheCreditsOfItsPeer) {
  for (const std::string link : {"infiniband", "ethernet"}) {
    const Scenario scenario = scenario_of(std::string{kSmall} + R"([[fault]]
at = "8 us"
kind = "down"
from = "leaf0"
to = "spine0"
reroute = "1 ms"
[[fault]]
at = "11 us"
kind = "up"
from = "leaf0"
to = "spine0"
[[fault]]
at = "12 us"
kind = "storm"
from = "nic7"
lasts = "50 us"
[[fault]]
at = "20 us"
kind = "down"
from = "leaf1"
to = "spine0"
reroute = "1 ms"
[[fault]]
at = "30 us"
kind = "up"
from = "leaf1"
to = "spine0"
)");
    Scenario with_link = scenario;
    with_link.back_end.switches.kind =
        link == "infiniband" ? LinkKind::kInfiniBand : LinkKind::kEthernet;
    const Outcome alone = run(with_link);
    ASSERT_TRUE(alone) << alone.error();
    for (const std::uint32_t ranks : {2U, 3U}) {
      const std::vector<Outcome> all = run_together(with_link, ranks, 1);
      ASSERT_TRUE(all[0]) << all[0].error();
      EXPECT_EQ(hash_of(*all[0]), hash_of(*alone)) << ranks << " ranks, " << link;
    }
  }
}

TEST(Ranks, CheckThePayloadOfEachOther) {
  Scenario scenario = scenario_of(kSmall);
  scenario.nics.check_payload = true;
  const Outcome alone = run(scenario);
  ASSERT_TRUE(alone);
  const std::vector<Outcome> all = run_together(scenario, 2, 1);
  ASSERT_TRUE(all[0]) << all[0].error();
  EXPECT_EQ(all[0]->remarks, alone->remarks);
  EXPECT_EQ(hash_of(*all[0]), hash_of(*alone));
}

TEST(Ranks, OneThatDiesEndsTheRunOfAllWithAnError) {
  const Scenario scenario = scenario_of(kSmall);
  for (const std::uint64_t dies_at : {0U, 1U, 5U, 20U}) {
    MeetingPlace place{3};
    std::vector<Outcome> outcomes(3, Unexpected{std::string{}});
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < 3; ++i) {
      threads.emplace_back([&, i] {
        ThreadRank rank{place, i, i == 1 ? dies_at : UINT64_MAX};
        RunOptions options;
        options.ranks = &rank;
        outcomes[i] = run(scenario, options);
      });
    }
    for (std::thread& one : threads) one.join();
    for (std::size_t i = 0; i < 3; ++i) ASSERT_FALSE(outcomes[i]) << i << " after " << dies_at;
    EXPECT_EQ(outcomes[1].error(), "it died");
    EXPECT_NE(outcomes[0].error().find("has ended"), std::string::npos) << outcomes[0].error();
  }
}

TEST(Ranks, MustHaveTheSameNetworkAndCores) {
  Scenario other = scenario_of(kSmall);
  other.back_end.trunk_delay = std::chrono::nanoseconds{444};
  const Scenario scenario = scenario_of(kSmall);
  std::vector<Outcome> outcomes(2, Unexpected{std::string{}});
  run_as_ranks(2, [&](ThreadRank& rank) {
    RunOptions options;
    options.ranks = &rank;
    outcomes[rank.rank()] = run(rank.rank() == 0 ? scenario : other, options);
  });
  for (const Outcome& one : outcomes) {
    ASSERT_FALSE(one);
    EXPECT_NE(one.error().find("has another network"), std::string::npos) << one.error();
  }
  run_as_ranks(2, [&](ThreadRank& rank) {
    RunOptions options;
    options.ranks = &rank;
    options.cores = 1 + rank.rank();
    outcomes[rank.rank()] = run(scenario, options);
  });
  EXPECT_EQ(outcomes[0].error(), "rank 1 has another number of cores: 2 there, 1 here");
}

// Jobs are not compared beforehand, but what they lead to is.
TEST(Ranks, WithDifferentJobsFail) {
  Scenario other = scenario_of(kSmall);
  other.jobs[0].start = std::chrono::microseconds{3};
  const Scenario scenario = scenario_of(kSmall);
  std::vector<Outcome> outcomes(2, Unexpected{std::string{}});
  run_as_ranks(2, [&](ThreadRank& rank) {
    RunOptions options;
    options.ranks = &rank;
    outcomes[rank.rank()] = run(rank.rank() == 0 ? scenario : other, options);
  });
  for (const Outcome& one : outcomes) ASSERT_FALSE(one);
  EXPECT_NE(outcomes[0].error().find("simulates something else"), std::string::npos)
      << outcomes[0].error();
}

TEST(Ranks, TheFirstRunsAloneWhatCannotBeDivided) {
  Scenario scenario = scenario_of(kSmall);
  scenario.nics.transport = Transport::kTcp;
  const Outcome alone = run(scenario);
  ASSERT_TRUE(alone) << alone.error();
  std::vector<Outcome> outcomes(2, Unexpected{std::string{}});
  std::string noted;
  run_as_ranks(2, [&](ThreadRank& rank) {
    RunOptions options;
    options.ranks = &rank;
    options.note = [&noted](const std::string& why) { noted = why; };
    outcomes[rank.rank()] = run(scenario, options);
  });
  ASSERT_TRUE(outcomes[0]) << outcomes[0].error();
  EXPECT_EQ(hash_of(*outcomes[0]), hash_of(*alone));
  ASSERT_TRUE(outcomes[1]);
  EXPECT_TRUE(outcomes[1]->jobs.empty());
  EXPECT_EQ(noted,
            "cannot be divided among 2 ranks, because TCP hosts run in one part; rank 0 runs it "
            "alone");
}

TEST(Packing, ReadsWhatItWroteAndNothingBeyond) {
  Packed bytes;
  Packer to{bytes};
  to.put(std::uint32_t{7});
  to.put_all(std::vector<std::uint16_t>{1, 2, 3});
  to.put_text("abc");
  for (std::size_t length = 0; length <= bytes.size(); ++length) {
    Unpacker from{std::span{bytes}.first(length)};
    std::vector<std::uint16_t> values;
    const auto number = from.take<std::uint32_t>();
    from.take_all(values);
    const std::string text = from.take_text();
    EXPECT_EQ(from.intact(), length == bytes.size());
    if (!from.intact()) continue;
    EXPECT_EQ(number, 7U);
    EXPECT_EQ(values, (std::vector<std::uint16_t>{1, 2, 3}));
    EXPECT_EQ(text, "abc");
    EXPECT_TRUE(from.at_end());
  }
}

}  // namespace nerve::sim
