// Goal: with selective repeat only lost packets are retransmitted; reordered ones are not lost.
// Method: two engines, with losses chosen by PSN, and every frame counted.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/pair.h"
#include "wire/describe.h"

namespace nerve::nic::selective_repeat_test {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using test::EndSetup;
using test::Pair;
using test::Seen;

constexpr std::uint32_t kPackets = 60;

EndSetup selective(bool on = true) {
  EndSetup both;
  both.config.selective_repeat.on = on;
  return both;
}

Status write(Pair& pair, std::uint32_t packets, std::uint64_t wr_id = 1) {
  return pair.a.post({.wr_id = wr_id,
                      .op = SendOp::kWrite,
                      .flags = SendFlags::kSignaled,
                      .remote_address = pair.b.at(0),
                      .rkey = pair.b.keys.rkey},
                     0, packets * 1024);
}

std::uint32_t sent_by_a(const Pair& pair) {
  return static_cast<std::uint32_t>(std::ranges::count_if(pair.seen, &Seen::from_a));
}

// Loses the first transmissions of these packets of `a`, this many of each.
void lose(Pair& pair, const std::map<std::uint32_t, int>& which) {
  pair.lose = [left = which](const Seen& frame) mutable {
    const auto found = left.find(frame.headers.bth.psn.value());
    return frame.from_a && found != left.end() && found->second-- > 0;
  };
}
void lose(Pair& pair, const std::set<std::uint32_t>& which) {
  std::map<std::uint32_t, int> once;
  for (const std::uint32_t psn : which) once[psn] = 1;
  lose(pair, once);
}

void expect_arrived(Pair& pair, std::uint32_t packets) {
  const auto done = pair.a.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  EXPECT_EQ(pair.b.bytes(0, packets * 1024), pair.a.bytes(0, packets * 1024));
}

struct Losses : ::testing::TestWithParam<std::set<std::uint32_t>> {};

TEST_P(Losses, AreSentAgainAndNothingElse) {
  Pair pair{selective()};
  pair.connect();
  pair.a.fill(0, kPackets * 1024, 9);
  lose(pair, GetParam());
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  pair.wait(milliseconds{1});
  const auto lost = static_cast<std::uint32_t>(GetParam().size());
  EXPECT_EQ(sent_by_a(pair), kPackets + lost);
  EXPECT_EQ(pair.a.nic.counters().retransmitted_frames, lost);
  EXPECT_EQ(pair.a.nic.counters().sequence_naks_received, 0U);
  EXPECT_EQ(pair.b.nic.counters().duplicates_received, 0U);
  expect_arrived(pair, kPackets);
}

std::set<std::uint32_t> range(std::uint32_t from, std::uint32_t to) {
  std::set<std::uint32_t> all;
  while (from < to) all.insert(from++);
  return all;
}
INSTANTIATE_TEST_SUITE_P(SelectiveRepeat, Losses,
                         ::testing::Values(std::set<std::uint32_t>{0},
                                           std::set<std::uint32_t>{5, 6, 20, 41},
                                           std::set<std::uint32_t>{kPackets - 1},
                                           std::set<std::uint32_t>{3, kPackets - 2, kPackets - 1},
                                           range(0, kPackets), range(33, kPackets), range(0, 59),
                                           range(2, 40)));

TEST(SelectiveRepeat, SendsFewerThanGoBackN) {
  Pair pair{selective(false)};
  pair.connect();
  lose(pair, std::set<std::uint32_t>{5, 6, 20, 41});
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  EXPECT_GE(pair.a.nic.counters().retransmitted_frames, 55U);
  EXPECT_EQ(pair.a.completions().size(), 1U);
}

TEST(SelectiveRepeat, ChangesNothingWhileNothingIsLost) {
  const auto conversation = [](bool on) {
    EndSetup both = selective(on);
    both.config.flow_control.ack_every = 7;
    Pair pair{both};
    pair.connect();
    EXPECT_TRUE(pair.b.post_receive(9, 4096, 8000));
    EXPECT_TRUE(write(pair, kPackets));
    EXPECT_TRUE(pair.a.post({.op = SendOp::kSend}, 0, 5000));
    EXPECT_TRUE(
        pair.a.post({.op = SendOp::kRead, .remote_address = pair.b.at(0), .rkey = pair.b.keys.rkey},
                    70'000, 5000));
    EXPECT_TRUE(write(pair, 3));
    pair.exchange();
    std::vector<std::string> all;
    for (Seen& frame : pair.seen) {
      frame.headers.reth.address = 0;  // differs between runs
      all.push_back(wire::describe(frame.headers, frame.payload_length));
    }
    return all;
  };
  const auto without = conversation(false);
  EXPECT_GT(without.size(), kPackets + 8);
  EXPECT_EQ(conversation(true), without);
}

// The retransmission is lost too: no later packet reveals it, so a timeout does.
TEST(SelectiveRepeat, ResendsALostRetransmissionAfterATimeout) {
  Pair pair{selective()};
  pair.connect();
  lose(pair, std::map<std::uint32_t, int>{{5, 2}, {9, 2}});
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  EXPECT_EQ(sent_by_a(pair), kPackets + 2);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
  pair.wait(microseconds{330});
  EXPECT_EQ(sent_by_a(pair), kPackets + 4);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 1U);
  expect_arrived(pair, kPackets);
}

// ... unless packets sent after the retransmission arrive before it.
TEST(SelectiveRepeat, ResendsALostRetransmissionWhenNewPacketsOvertakeIt) {
  EndSetup both = selective();
  both.config.max_outstanding_packets = 20;
  Pair pair{both};
  pair.connect();
  pair.a.fill(0, kPackets * 1024, 2);
  lose(pair, std::map<std::uint32_t, int>{{5, 1}, {9, 2}});
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  EXPECT_EQ(sent_by_a(pair), kPackets + 3);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
  expect_arrived(pair, kPackets);
}

TEST(SelectiveRepeat, WaitsLongerWhileManyAreOnTheirWay) {
  for (const auto& [packets, patience] :
       {std::pair{3U, microseconds{100}}, std::pair{4U, microseconds{320}}}) {
    Pair pair{selective()};
    pair.connect();
    lose(pair, range(0, packets));
    ASSERT_TRUE(write(pair, packets));
    pair.exchange();
    pair.wait(patience - microseconds{1});
    EXPECT_EQ(sent_by_a(pair), packets);
    pair.wait(microseconds{2});
    EXPECT_EQ(sent_by_a(pair), 2 * packets);
  }
}

// A dead peer is given up when the QP's own timeout has expired once and once per retry, however
// often the short one has. 4.096 us * 2^10 is 4.19 ms.
TEST(SelectiveRepeat, GivesUpWhenGoBackNWould) {
  Pair pair{selective()};
  pair.a.attributes.retry_count = 2;
  pair.connect();
  pair.lose = [](const Seen&) { return true; };
  ASSERT_TRUE(write(pair, 1));
  pair.exchange();
  pair.wait(microseconds{12'500});
  EXPECT_TRUE(pair.a.completions().empty());
  pair.wait(microseconds{1'000});
  const auto done = pair.a.completions();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kRetryExceeded);
  EXPECT_GT(sent_by_a(pair), 100U);
}

// Only one end has it: the other answers with plain NAKs and gets go-back-N.
TEST(SelectiveRepeat, WorksWithAPeerWithoutIt) {
  for (const bool sender : {true, false}) {
    Pair pair{selective(sender)};
    EndSetup other = selective(!sender);
    std::destroy_at(&pair.b);
    std::construct_at(&pair.b, std::uint8_t{2}, other);
    pair.connect();
    pair.a.fill(0, kPackets * 1024, 3);
    lose(pair, std::set<std::uint32_t>{5, 20});
    ASSERT_TRUE(write(pair, kPackets));
    pair.exchange();
    pair.wait(milliseconds{40});
    expect_arrived(pair, kPackets);
  }
}

// READs and atomics among the packets: the lost requests are retransmitted, once.
TEST(SelectiveRepeat, RepairsRequestsThatAreAnsweredByData) {
  Pair pair{selective()};
  pair.connect();
  pair.b.fill(0, 8192, 5);
  lose(pair, std::set<std::uint32_t>{1, 2, 6, 7});
  const auto ask = [&](SendOp op, std::size_t remote, std::size_t offset, std::uint32_t length) {
    SendWr wr{.op = op, .flags = SendFlags::kSignaled, .remote_address = pair.b.at(remote)};
    wr.rkey = pair.b.keys.rkey;
    wr.compare_or_add = 1;
    ASSERT_TRUE(pair.a.post(wr, offset, length));
  };
  ask(SendOp::kWrite, 60'000, 40'000, 8);     // 0
  ask(SendOp::kRead, 0, 20'000, 4096);        // 1 to 4, the request lost
  ask(SendOp::kWrite, 60'000, 40'000, 8);     // 5
  ask(SendOp::kFetchAdd, 8192, 30'000, 8);    // 6, lost
  ask(SendOp::kWrite, 60'000, 40'000, 2048);  // 7, lost, and 8
  pair.exchange();
  EXPECT_EQ(pair.a.nic.counters().retransmitted_frames, 3U);
  EXPECT_EQ(pair.a.completions().size(), 5U);
  EXPECT_EQ(pair.a.bytes(20'000, 4096), pair.b.bytes(0, 4096));
  EXPECT_EQ(pair.b.word(8192), 1U);
}

// Without a receive none of the held packets is delivered, and none is lost.
TEST(SelectiveRepeat, ContinuesAfterAnRnrNak) {
  EndSetup both = selective();
  both.config.flow_control.heed_credits = false;
  Pair pair{both};
  pair.connect();
  lose(pair, std::set<std::uint32_t>{1});
  for (std::uint64_t i = 0; i < 6; ++i) {
    ASSERT_TRUE(
        pair.a.post({.wr_id = i, .op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 8));
  }
  ASSERT_TRUE(pair.b.post_receive(0, 0, 64));
  ASSERT_TRUE(pair.b.post_receive(1, 64, 64));
  pair.exchange();
  EXPECT_EQ(pair.b.completions().size(), 2U);
  EXPECT_GT(pair.b.nic.counters().rnr_naks_sent, 0U);
  for (std::uint64_t i = 2; i < 6; ++i) ASSERT_TRUE(pair.b.post_receive(i, i * 64, 64));
  pair.wait(milliseconds{1});
  EXPECT_EQ(pair.a.completions().size(), 6U);
  const auto got = pair.b.completions();
  ASSERT_EQ(got.size(), 4U);
  for (std::uint64_t i = 0; i < 4; ++i) EXPECT_EQ(got[i].wr_id, i + 2);
}

TEST(SelectiveRepeat, BeginsAnewWithTheQp) {
  Pair pair{selective()};
  pair.connect();
  lose(pair, std::set<std::uint32_t>{0});
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  (void)pair.a.completions();
  ASSERT_TRUE(write(pair, 3));
  pair.lose = [](const Seen& frame) { return frame.from_a && frame.headers.bth.psn == Psn{61}; };
  pair.exchange();  // b holds 62, and a knows it
  for (test::End* end : {&pair.a, &pair.b}) end->step(QpState::kReset);
  (void)pair.a.completions();
  pair.lose = nullptr;
  pair.connect();
  pair.a.fill(0, kPackets * 1024, 77);
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  expect_arrived(pair, kPackets);
}

// Reorders the frames of a burst; none is lost, and each is answered when it arrives.
class Shuffled {
 public:
  explicit Shuffled(const EndSetup& both) : pair{both} { pair.connect(); }

  // Each group of this many frames is reversed.
  void exchange(std::size_t group) {
    for (bool busy = true; busy;) {
      pair.now += microseconds{1};
      pair.a.nic.transmit(burst_, pair.now);
      busy = !burst_.empty();
      const auto frames = burst_.frames();
      for (std::size_t begin = 0; begin < frames.size(); begin += group) {
        const auto some = frames.subspan(begin, std::min(group, frames.size() - begin));
        for (std::size_t i = some.size(); i > 0; --i) carry(some[i - 1]);
      }
      // Packets triggered by an answer are sent before the next answer is delivered.
      for (std::size_t i = 0; i < answers_.size(); ++i) {
        const wire::Frame answer = answers_[i];
        pair.a.nic.receive({&answer, 1}, pair.now);
        pair.a.nic.transmit(burst_, pair.now);
        for (const wire::Frame& frame : burst_.frames()) carry(frame);
      }
      answers_.clear();
    }
  }

  Pair pair;

 private:
  void carry(const wire::Frame& frame) {
    pair.b.nic.receive({&frame, 1}, pair.now);
    TxBurst burst{4};
    pair.b.nic.transmit(burst, pair.now);
    answers_.insert(answers_.end(), burst.frames().begin(), burst.frames().end());
  }

  TxBurst burst_{64};
  std::vector<wire::Frame> answers_;  // they have no payload
};

TEST(Reordering, SendsNothingAgainWithinTheWindow) {
  EndSetup both = selective();
  both.config.selective_repeat.reorder_window = 3;
  Shuffled world{both};
  world.pair.a.fill(0, kPackets * 1024, 4);
  ASSERT_TRUE(write(world.pair, kPackets));
  world.exchange(4);
  EXPECT_EQ(world.pair.a.nic.counters().retransmitted_frames, 0U);
  EXPECT_EQ(world.pair.b.nic.counters().out_of_order_received, kPackets * 3 / 4);
  expect_arrived(world.pair, kPackets);
}

TEST(Reordering, LooksLikeALossWithoutOne) {
  Shuffled world{selective()};
  ASSERT_TRUE(write(world.pair, kPackets));
  world.exchange(4);
  EXPECT_GT(world.pair.a.nic.counters().retransmitted_frames, 0U);
  EXPECT_LE(world.pair.a.nic.counters().retransmitted_frames, kPackets);
  expect_arrived(world.pair, kPackets);
}

TEST(Reordering, CountsAsALossAfterAWhile) {
  EndSetup both = selective();
  both.config.selective_repeat.reorder_window = 30;
  both.config.selective_repeat.reorder_timeout = microseconds{20};
  Pair pair{both};
  pair.connect();
  lose(pair, std::set<std::uint32_t>{2, 5});
  ASSERT_TRUE(write(pair, 10));
  pair.exchange();
  pair.wait(microseconds{19});
  EXPECT_EQ(sent_by_a(pair), 10U);
  pair.wait(microseconds{2});
  EXPECT_EQ(sent_by_a(pair), 12U);
  EXPECT_EQ(pair.a.nic.counters().timeouts, 0U);
  expect_arrived(pair, 10);
}

// More packets than the other end can hold: those that do not fit are NAKed as in go-back-N.
TEST(SelectiveRepeat, OutrunsASmallerWindow) {
  Pair pair{selective()};
  EndSetup small = selective();
  small.config.max_outstanding_packets = 8;
  std::destroy_at(&pair.b);
  std::construct_at(&pair.b, std::uint8_t{2}, small);
  pair.connect();
  pair.a.fill(0, kPackets * 1024, 6);
  lose(pair, std::set<std::uint32_t>{1, 30});
  ASSERT_TRUE(write(pair, kPackets));
  pair.exchange();
  pair.wait(milliseconds{40});
  EXPECT_GT(pair.b.nic.counters().sequence_naks_sent, 0U);
  expect_arrived(pair, kPackets);
}

}  // namespace
}  // namespace nerve::nic::selective_repeat_test
