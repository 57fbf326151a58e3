// Goal: the scoreboard tracks arrived packets and drops acknowledged ones, around the whole PSN
// ring. Method: small cases, and comparison with a set.
#include "nic/qp_context/scoreboard.h"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.h"

namespace nerve::nic {
namespace {

constexpr Psn kFirst{0xff'fff0};  // the tests cross the wrap

Scoreboard board_of(std::uint32_t window) {
  Scoreboard board{window};
  board.begin(kFirst);
  return board;
}

TEST(Scoreboard, BeginsWithNothing) {
  const Scoreboard board = board_of(64);
  EXPECT_FALSE(board.any_arrived(kFirst));
  EXPECT_EQ(board.first_missing(kFirst, kFirst, kFirst + 10), kFirst);
  EXPECT_EQ(board.lost_before(kFirst, 0), kFirst);
}

TEST(Scoreboard, RecordsEachPacketOnce) {
  Scoreboard board = board_of(64);
  EXPECT_TRUE(board.mark(kFirst, kFirst + 20));
  EXPECT_FALSE(board.mark(kFirst, kFirst + 20));
  EXPECT_FALSE(board.mark(kFirst, kFirst)) << "the one that the peer waits for";
  EXPECT_FALSE(board.mark(kFirst, kFirst + 0xff'ffff)) << "an old one";
  EXPECT_FALSE(board.mark(kFirst, kFirst + 64)) << "beyond what is remembered";
  EXPECT_EQ(board.sacked_end, kFirst + 21);
}

// With no tolerance, everything before the highest arrived packet is lost; with three, what at
// least four packets have overtaken.
TEST(Scoreboard, CountsAsLostWhatWasOvertaken) {
  Scoreboard board = board_of(64);
  board.mark(kFirst, kFirst + 1);
  EXPECT_EQ(board.lost_before(kFirst, 0), kFirst + 1);
  EXPECT_EQ(board.lost_before(kFirst, 1), kFirst);
  board.mark(kFirst, kFirst + 4);
  EXPECT_EQ(board.lost_before(kFirst, 0), kFirst + 4);
  EXPECT_EQ(board.lost_before(kFirst, 3), kFirst + 1);
  EXPECT_EQ(board.lost_before(kFirst, 4), kFirst);
}

TEST(Scoreboard, ClearsThePacketThatThePeerExpects) {
  Scoreboard board = board_of(64);
  board.mark(kFirst, kFirst + 3);
  board.acknowledged(kFirst, kFirst + 3);  // rejected for lack of a receive
  EXPECT_FALSE(board.arrived(kFirst + 3, kFirst + 3));
  EXPECT_FALSE(board.any_arrived(kFirst + 3));
}

TEST(Scoreboard, KnowsNothingBeyondItsWindow) {
  Scoreboard board = board_of(64);
  for (std::uint32_t i = 1; i < 64; ++i) board.mark(kFirst, kFirst + i);
  EXPECT_EQ(board.first_missing(kFirst, kFirst + 1, kFirst + 500), kFirst + 64);
  EXPECT_EQ(board.first_missing(kFirst, kFirst + 1, kFirst + 30), kFirst + 30);
  EXPECT_FALSE(board.arrived(kFirst, kFirst + 65)) << "it has the place of another";
}

TEST(Scoreboard, AgreesWithASet) {
  Prng prng{11};
  for (const std::uint32_t window : {1U, 64U, 100U, 4096U}) {
    Scoreboard board = board_of(window);
    std::set<std::uint32_t> arrived;  // offsets from the first PSN
    std::uint32_t unacked = 0;
    for (int step = 0; step < 3000; ++step) {
      const auto ahead = static_cast<std::uint32_t>(prng.between(1, 90));
      if (board.mark(kFirst + unacked, kFirst + (unacked + ahead))) arrived.insert(unacked + ahead);
      if (prng.chance(200)) {
        const std::uint32_t before = unacked;
        unacked += static_cast<std::uint32_t>(prng.between(1, prng.chance(20) ? 9000 : 20));
        board.acknowledged(kFirst + before, kFirst + unacked);
        arrived.erase(arrived.begin(), arrived.upper_bound(unacked));
      }
      const std::uint32_t end = arrived.empty() ? unacked : *arrived.rbegin() + 1;
      ASSERT_EQ(board.sacked_end, kFirst + end);
      std::uint32_t missing = unacked + 1;
      while (missing < unacked + 95 && arrived.contains(missing)) ++missing;
      ASSERT_EQ(
          board.first_missing(kFirst + unacked, kFirst + (unacked + 1), kFirst + (unacked + 95)),
          kFirst + missing);
    }
  }
}

}  // namespace
}  // namespace nerve::nic
