// Goal: an answer that the peer cannot have sent changes nothing, whatever it claims; an answer of
// a peer that counts in another way is taken. Method: one engine, and answers built by hand.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "base/prng.h"
#include "nic/nic.h"
#include "nic/wqe_engine/message_numbers.h"
#include "tests/nic/probe.h"
#include "wire/selective_nak.h"

namespace nerve::nic {
namespace {

using std::chrono::milliseconds;
using test::EndSetup;
using test::Pair;
using test::Probe;
using wire::Operation;

constexpr std::uint8_t kPlainAck = wire::kCreditsUnknown;
constexpr std::uint8_t kRnrNakOf1 = wire::syndrome(wire::AckKind::kRnrNak, 1);

TEST(MessageNumbers, FitBetweenTheAcknowledgedAndTheBegun) {
  // Five are acknowledged, eight were begun, so nine is the next.
  for (std::uint32_t msn = 0; msn < 100; ++msn) {
    EXPECT_EQ(msn_fits(5, 9, msn), msn >= 5 && msn <= 8) << msn;
  }
  for (const std::uint32_t msn : {0x80'0000U, 0xff'ffffU}) EXPECT_FALSE(msn_fits(5, 9, msn));
}

TEST(MessageNumbers, FitOneNumberWhenNothingIsOutstanding) {
  EXPECT_TRUE(msn_fits(0, 1, 0));
  EXPECT_FALSE(msn_fits(0, 1, 1));
  EXPECT_FALSE(msn_fits(0, 1, 0xff'ffff));
}

TEST(MessageNumbers, FitAcrossTheWrap) {
  // 2^24 - 3 are acknowledged; the next, after the wrap, is 2.
  constexpr std::uint32_t kPlainAcknowledged = 0xff'fffd;
  for (const std::uint32_t msn : {0xff'fffdU, 0xff'fffeU, 0xff'ffffU, 0U, 1U}) {
    EXPECT_TRUE(msn_fits(kPlainAcknowledged, 2, msn)) << msn;
  }
  for (const std::uint32_t msn : {0xff'fffcU, 2U, 3U, 0x80'0000U}) {
    EXPECT_FALSE(msn_fits(kPlainAcknowledged, 2, msn)) << msn;
  }
  // The last number before the wrap, and the first after it.
  EXPECT_TRUE(msn_fits(0xff'fffe, 0, 0xff'ffff));
  EXPECT_FALSE(msn_fits(0xff'fffe, 0, 0));
  EXPECT_TRUE(msn_fits(0xff'ffff, 1, 0));
  EXPECT_FALSE(msn_fits(0xff'ffff, 1, 1));
}

struct ForgedAnswers : ::testing::Test {
  Probe probe;
  void SetUp() override { probe.end.bring_to(QpState::kRts); }
  // Sends SENDs of one packet each.
  void send(int count) {
    for (int i = 0; i < count; ++i) {
      ASSERT_TRUE(probe.end.post({.flags = SendFlags::kSignaled}, 0, 8));
    }
    (void)probe.listen();
  }
  wire::Frame answer(std::uint32_t psn, std::uint8_t syndrome, std::uint32_t msn) {
    wire::Frame frame = probe.frame(Operation::kAcknowledge, psn);
    frame.headers.aeth = {.syndrome = syndrome, .msn = msn};
    return frame;
  }
  void expect_dropped(const wire::Frame& frame) {
    const std::uint64_t before = counters().dropped_bad_msn;
    EXPECT_TRUE(probe.hear(frame).empty());
    EXPECT_EQ(counters().dropped_bad_msn, before + 1);
    EXPECT_TRUE(probe.end.completions().empty());
    EXPECT_EQ(probe.end.state(), QpState::kRts);
  }
  [[nodiscard]] const Counters& counters() const { return probe.end.nic.counters(); }
};

TEST_F(ForgedAnswers, OfEveryKindAreDropped) {
  send(2);
  (void)probe.hear(answer(1, kPlainAck, 2));  // the peer counts
  ASSERT_EQ(probe.end.completions().size(), 2U);
  send(3);
  // Outstanding are PSNs 2 to 4; the peer can have completed two to five messages.
  for (const std::uint8_t syndrome : {kPlainAck, kRnrNakOf1, test::kNakSequence, test::kNakInvalid,
                                      test::kNakAccess, test::kNakOperation}) {
    for (const std::uint32_t msn : {0U, 1U, 6U, 7U, 0x12'3456U, 0x80'0000U, 0xff'ffffU}) {
      expect_dropped(answer(3, syndrome, msn));
    }
  }
  EXPECT_EQ(counters().error_naks_received, 0U);
  EXPECT_EQ(counters().rnr_naks_received, 0U);
  (void)probe.hear(answer(4, kPlainAck, 5));
  EXPECT_EQ(probe.end.completions().size(), 3U);
}

// Before the peer has acknowledged anything, an MSN can only be that of what was sent.
TEST_F(ForgedAnswers, NaksAreDroppedFromTheBeginning) {
  send(3);
  for (const std::uint32_t msn : {4U, 0x12'3456U, 0xff'ffffU}) {
    expect_dropped(answer(0, test::kNakAccess, msn));
    expect_dropped(answer(2, kRnrNakOf1, msn));
  }
}

TEST_F(ForgedAnswers, AGenuineNakIsTaken) {
  send(3);
  (void)probe.hear(answer(1, test::kNakAccess, 1));
  const auto done = probe.end.completions();
  ASSERT_EQ(done.size(), 3U);
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
  EXPECT_EQ(done[1].status, WcStatus::kRemoteAccess);
  EXPECT_EQ(done[2].status, WcStatus::kFlushed);
}

// Duplicates are answered with the count of the moment, which may be ahead of their PSN.
TEST_F(ForgedAnswers, AnOldPsnWithANewCountIsTaken) {
  send(1);
  (void)probe.hear(answer(0, kPlainAck, 1));
  send(4);
  (void)probe.hear(answer(1, kPlainAck, 5));
  EXPECT_EQ(probe.end.completions().size(), 2U);
  (void)probe.hear(answer(4, kPlainAck, 5));
  EXPECT_EQ(probe.end.completions().size(), 3U);
}

TEST_F(ForgedAnswers, RandomOnesNeverEndAConnection) {
  send(1);
  (void)probe.hear(answer(0, kPlainAck, 1));
  ASSERT_EQ(probe.end.completions().size(), 1U);
  send(16);
  Prng prng{5};
  for (int i = 0; i < 300'000; ++i) {
    const auto psn = static_cast<std::uint32_t>(1 + prng.below(16));  // it knows the PSNs
    const auto msn = static_cast<std::uint32_t>(prng.between(18, 0xff'ffff));
    const auto syndrome = static_cast<std::uint8_t>(prng.below(128));
    (void)probe.hear(answer(psn, syndrome, msn));
  }
  EXPECT_EQ(probe.end.state(), QpState::kRts);
  EXPECT_TRUE(probe.end.completions().empty());
  (void)probe.hear(answer(16, kPlainAck, 17));
  EXPECT_EQ(probe.end.completions().size(), 16U);
}

// A peer that does not count, counts bytes, or has gone on counting since another connection.
TEST_F(ForgedAnswers, APeerThatCountsOtherwiseIsUnderstood) {
  for (const auto& count : std::initializer_list<std::function<std::uint32_t(std::uint32_t)>>{
           [](std::uint32_t) { return 0U; }, [](std::uint32_t n) { return 1'000'000 + n; },
           [](std::uint32_t n) { return 8 * n; }}) {
    probe.end.bring_to(QpState::kRts);
    for (std::uint32_t psn = 0; psn < 40; psn += 4) {
      send(4);
      (void)probe.hear(answer(psn + 3, kPlainAck, count(psn + 4)));
      EXPECT_EQ(probe.end.completions().size(), 4U);
    }
    send(1);
    (void)probe.hear(answer(40, test::kNakOperation, count(40)));
    const auto done = probe.end.completions();
    ASSERT_EQ(done.size(), 1U);
    EXPECT_EQ(done[0].status, WcStatus::kRemoteOperation);
  }
}

// Response data is checked too, where it has an AETH.
TEST_F(ForgedAnswers, ReadDataWithAWrongMsnIsNotPlaced) {
  send(1);
  (void)probe.hear(answer(0, kPlainAck, 1));
  ASSERT_EQ(probe.end.completions().size(), 1U);
  const auto read = [&] {
    ASSERT_TRUE(probe.end.post({.op = SendOp::kRead, .flags = SendFlags::kSignaled}, 4096, 64));
    (void)probe.listen();
  };
  read();
  const auto memory = probe.end.memory;
  wire::Frame data = probe.frame(Operation::kReadResponseOnly, 1, 64);
  data.headers.aeth = {.syndrome = kPlainAck, .msn = 3};
  expect_dropped(data);
  EXPECT_EQ(probe.end.memory, memory);
  // Whether the peer counts a READ before or after it has answered it.
  data.headers.aeth.msn = 1;
  (void)probe.hear(data);
  EXPECT_EQ(probe.end.completions().size(), 1U);
  read();
  data = probe.frame(Operation::kReadResponseOnly, 2, 64);
  data.headers.aeth = {.syndrome = kPlainAck, .msn = 3};
  (void)probe.hear(data);
  EXPECT_EQ(probe.end.completions().size(), 1U);
}

// A program that only reads learns from the data that its peer counts.
TEST_F(ForgedAnswers, ReadersAreProtectedToo) {
  for (std::uint32_t psn = 0; psn < 2; ++psn) {
    ASSERT_TRUE(probe.end.post({.op = SendOp::kRead, .flags = SendFlags::kSignaled}, 4096, 64));
    (void)probe.listen();
    if (psn == 1) expect_dropped(answer(1, kPlainAck, 0x12'3456));
    wire::Frame data = probe.frame(Operation::kReadResponseOnly, psn, 64);
    data.headers.aeth = {.syndrome = kPlainAck, .msn = psn + 1};
    (void)probe.hear(data);
    EXPECT_EQ(probe.end.completions().size(), 1U);
  }
}

// An ACK of old packets may bring credits, but not make all later ones seem old.
TEST_F(ForgedAnswers, CreditsFromTheFutureAreDropped) {
  const auto credits = [](std::uint32_t receives) {
    return wire::syndrome(wire::AckKind::kAck, wire::credit_code(receives));
  };
  send(2);
  (void)probe.hear(answer(1, credits(0), 2));
  ASSERT_EQ(probe.end.completions().size(), 2U);
  for (const std::uint32_t psn : {1U, 0U, 0xff'ff00U, 0x90'0000U}) {
    expect_dropped(answer(psn, credits(0), 0x40'0000));
  }
  (void)probe.hear(answer(1, credits(4), 2));
  send(4);
  EXPECT_EQ(probe.end.nic.counters().frames_sent, 6U) << "the credits of the peer are heeded";
}

TEST_F(ForgedAnswers, SelectiveNaksOfPacketsThatWereNotSentAreDropped) {
  EndSetup setup;
  setup.config.selective_repeat.on = true;
  Probe selective{setup};
  selective.end.bring_to(QpState::kRts);
  ASSERT_TRUE(selective.end.post({.op = SendOp::kWrite, .flags = SendFlags::kSignaled}, 0, 8192));
  ASSERT_EQ(selective.listen().size(), 8U);
  for (const std::uint32_t arrived : {8U, 9U, 0x10'0000U, 0x80'0000U, 0xf0'0000U}) {
    wire::Frame nak = selective.frame(Operation::kAcknowledge, 4);
    nak.headers.aeth = wire::selective_nak(Psn{arrived});
    EXPECT_TRUE(selective.hear(nak).empty()) << arrived;
  }
  EXPECT_EQ(selective.end.nic.counters().dropped_bad_msn, 5U);
  EXPECT_EQ(selective.end.nic.counters().selective_naks_received, 0U);
}

// A peer of our own kind, with everything that may happen to answers.
TEST(GenuineAnswers, AreNeverDropped) {
  Prng prng{9};
  Pair pair;
  pair.connect();
  for (std::uint64_t id = 0; id < 16; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 4096));
  std::uint32_t posted = 0;
  std::uint32_t done = 0;
  pair.lose = [&](const test::Seen&) { return prng.chance(50); };
  for (int round = 0; round < 2000; ++round) {
    constexpr SendOp kOps[] = {SendOp::kSend, SendOp::kWrite, SendOp::kRead, SendOp::kFetchAdd};
    const SendOp op = kOps[prng.below(4)];
    const std::uint32_t length =
        op == SendOp::kFetchAdd ? 8 : static_cast<std::uint32_t>(prng.between(1, 4000));
    if (pair.a.post({.op = op,
                     .flags = SendFlags::kSignaled,
                     .remote_address = pair.b.at(8192),
                     .rkey = pair.b.keys.rkey,
                     .compare_or_add = 1},
                    0, length)) {
      ++posted;
    }
    pair.exchange();
    if (prng.chance(300)) pair.wait(milliseconds{5});
    for (const Completion& c : pair.a.completions()) {
      ASSERT_EQ(c.status, WcStatus::kSuccess);
      ++done;
    }
    for (const Completion& c : pair.b.completions()) {
      ASSERT_TRUE(pair.b.post_receive(c.wr_id, 0, 4096));
    }
  }
  pair.lose = {};
  pair.wait(milliseconds{100});
  done += static_cast<std::uint32_t>(pair.a.completions().size());
  EXPECT_EQ(done, posted);
  EXPECT_EQ(pair.a.nic.counters().dropped_bad_msn, 0U);
}

}  // namespace
}  // namespace nerve::nic
