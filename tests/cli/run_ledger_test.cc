// Goal: each run of a sweep is done once, also when ranks die or come back.
#include "cli/run_ledger.h"

#include <gtest/gtest.h>

namespace nerve::cli {
namespace {

using Clock = RunLedger::Clock;
constexpr Clock::time_point kBegin{};
constexpr Clock::time_point kLater = kBegin + 2 * RunLedger::kSilence;

}  // namespace

TEST(RunLedger, HandsOutEachRunOnce) {
  RunLedger ledger{{2, 5, 7}, 3, kBegin};
  EXPECT_EQ(ledger.take(0), 2U);
  EXPECT_EQ(ledger.take(1), 5U);
  EXPECT_EQ(ledger.take(2), 7U);
  EXPECT_EQ(ledger.take(1), std::nullopt);
  EXPECT_EQ(ledger.held_by(1), 1U);
  for (const std::size_t run : {7U, 2U, 5U}) EXPECT_TRUE(ledger.done(run));
  EXPECT_TRUE(ledger.all_done());
  EXPECT_EQ(ledger.held_by(1), 0U);
}

TEST(RunLedger, GivesTheRunsOfASilentRankToOthers) {
  RunLedger ledger{{0, 1}, 3, kBegin};
  EXPECT_EQ(ledger.take(1), 0U);
  EXPECT_EQ(ledger.take(2), 1U);
  ledger.heard_of(2, kLater);
  EXPECT_TRUE(ledger.bury(kLater).empty());
  EXPECT_TRUE(ledger.anyone_dead());
  EXPECT_FALSE(ledger.is_alive(1));
  EXPECT_EQ(ledger.take(1), std::nullopt);
  EXPECT_EQ(ledger.take(2), 0U);
}

TEST(RunLedger, RankZeroNeverCountsAsSilent) {
  RunLedger ledger{{0}, 2, kBegin};
  EXPECT_EQ(ledger.take(0), 0U);
  EXPECT_TRUE(ledger.bury(kLater).empty());
  EXPECT_EQ(ledger.held_by(0), 1U);
}

TEST(RunLedger, TakesTheResultOfARankThatWasOnlySlowAndNotTwice) {
  RunLedger ledger{{0}, 3, kBegin};
  EXPECT_EQ(ledger.take(1), 0U);
  EXPECT_TRUE(ledger.bury(kLater).empty());
  ledger.heard_of(1, kLater);
  ledger.heard_of(2, kLater);
  EXPECT_FALSE(ledger.anyone_dead());
  EXPECT_TRUE(ledger.done(0));
  EXPECT_FALSE(ledger.done(0));
  EXPECT_TRUE(ledger.all_done());
  EXPECT_EQ(ledger.take(2), std::nullopt);
}

TEST(RunLedger, GivesUpARunThatHasKilledSeveralRanks) {
  RunLedger ledger{{4}, 5, kBegin};
  Clock::time_point now = kBegin;
  for (std::uint32_t rank = 1; rank <= RunLedger::kAttempts; ++rank) {
    for (std::uint32_t i = rank; i < 5; ++i) ledger.heard_of(i, now);
    EXPECT_EQ(ledger.take(rank), 4U);
    now += 2 * RunLedger::kSilence;
    for (std::uint32_t i = rank + 1; i < 5; ++i) ledger.heard_of(i, now);
    const std::vector<std::size_t> given_up = ledger.bury(now);
    EXPECT_EQ(given_up.size(), rank == RunLedger::kAttempts ? 1U : 0U);
  }
  EXPECT_TRUE(ledger.all_done());
}

TEST(RunLedger, IgnoresRunsThatItDoesNotKnow) {
  RunLedger ledger{{3}, 2, kBegin};
  EXPECT_FALSE(ledger.done(1));
  EXPECT_FALSE(ledger.done(99));
  EXPECT_EQ(ledger.left(), 1U);
}

}  // namespace nerve::cli
