// Goal: requests are executed in PSN order and exactly once, in whatever order and however often
// they arrive; each gap is NAKed once, and the peer can always get its answer again.
#include <gtest/gtest.h>

#include <vector>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::Probe;
using test::Seen;
using enum wire::Operation;

struct Order : ::testing::Test {
  Probe probe;
  void start(std::uint32_t psn = 0) {
    probe.end.attributes.rq_psn = Psn{psn};
    probe.end.bring_to(QpState::kRts);
  }
  wire::Frame write(std::uint32_t psn) { return probe.frame_at(kWriteOnly, psn, 4096, 8, 8); }
  [[nodiscard]] const Counters& counters() const { return probe.end.nic.counters(); }
};

void expect_ack(const std::vector<Seen>& answers, std::uint32_t psn, std::uint32_t msn) {
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].operation(), kAcknowledge);
  EXPECT_EQ(wire::kind_of(answers[0].headers.aeth.syndrome), wire::AckKind::kAck);
  EXPECT_EQ(answers[0].headers.bth.psn, Psn{psn});
  EXPECT_EQ(answers[0].headers.aeth.msn, msn);
}

void expect_nak(const std::vector<Seen>& answers, std::uint8_t syndrome, std::uint32_t psn) {
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].operation(), kAcknowledge);
  EXPECT_EQ(answers[0].headers.aeth.syndrome, syndrome);
  EXPECT_EQ(answers[0].headers.bth.psn, Psn{psn});
}

TEST_F(Order, OneAckCoversABurst) {
  start(0xff'fffe);
  const wire::Frame burst[] = {write(0xff'fffe), write(0xff'ffff), write(0), write(1)};
  expect_ack(probe.hear(burst), 1, 4);
}

// Response data acknowledges all requests before it. An ACK with the PSN of a READ claims a
// response that may have been lost: Soft-RoCE, as requester, ends the connection.
TEST_F(Order, NoAckCoversARequestAnsweredByData) {
  start(10);
  const auto read = [&](std::uint32_t psn) {
    return probe.frame_at(kReadRequest, psn, 0, 3 * 1024);
  };
  const wire::Frame burst[] = {write(10), read(11)};
  std::vector<Seen> answers = probe.hear(burst);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].operation(), kReadResponseFirst);
  EXPECT_EQ(answers[2].operation(), kReadResponseLast);

  expect_ack(probe.hear(write(10)), 10, 2);  // a duplicate
  const wire::Frame more[] = {read(14), write(17)};
  answers = probe.hear(more);
  ASSERT_EQ(answers.size(), 4U);
  EXPECT_EQ(answers[3].operation(), kAcknowledge);
  EXPECT_EQ(answers[3].headers.bth.psn, Psn{17});
}

TEST_F(Order, RequestsWithoutAckRequestGetNoAck) {
  start();
  wire::Frame frame = write(0);
  frame.headers.bth.ack_request = false;
  EXPECT_TRUE(probe.hear(frame).empty());
  expect_ack(probe.hear(write(1)), 1, 2);
}

TEST_F(Order, OneNakForEachGap) {
  start(10);
  expect_nak(probe.hear(write(12)), test::kNakSequence, 10);
  EXPECT_TRUE(probe.hear(write(13)).empty()) << "the same gap";
  EXPECT_TRUE(probe.hear(write(11)).empty()) << "still the same";
  expect_ack(probe.hear(write(10)), 10, 1);
  expect_nak(probe.hear(write(12)), test::kNakSequence, 11);
  EXPECT_EQ(counters().sequence_naks_sent, 2U);
  EXPECT_EQ(counters().out_of_order_received, 4U);
  EXPECT_EQ(probe.end.state(), QpState::kRts);
}

TEST_F(Order, PacketsAheadOfAGapAreNotExecuted) {
  start();
  const auto memory = probe.end.memory;
  probe.hear(write(1));
  probe.hear(write(0x7f'ffff));
  EXPECT_EQ(probe.end.memory, memory);
}

TEST_F(Order, ADuplicateIsAcknowledgedAgainButNotExecuted) {
  start(100);
  ASSERT_TRUE(probe.end.post_receive(1, 0, 64));
  ASSERT_TRUE(probe.end.post_receive(2, 64, 64));
  const wire::Frame sends[] = {probe.frame(kSendOnly, 100, 8), write(101)};
  expect_ack(probe.hear(sends), 101, 2);
  ASSERT_EQ(probe.end.completions().size(), 1U);
  probe.end.fill(0, 8192, 9);
  const auto memory = probe.end.memory;
  for (const wire::Frame& duplicate : {sends[0], sends[1], sends[0]}) {
    expect_ack(probe.hear(duplicate), 101, 2);
  }
  EXPECT_EQ(probe.end.memory, memory);
  EXPECT_TRUE(probe.end.completions().empty());
  EXPECT_EQ(counters().duplicates_received, 3U);
}

TEST_F(Order, RnrNakCarriesTheTimerOfTheQp) {
  for (const std::uint8_t code : std::to_array<std::uint8_t>({0, 1, 12, 31})) {
    probe.end.attributes.min_rnr_timer = code;
    start(5);
    const auto rnr = wire::syndrome(wire::AckKind::kRnrNak, code);
    expect_nak(probe.hear(probe.frame(kSendOnly, 5, 8)), rnr, 5);
    EXPECT_TRUE(probe.hear(write(6)).empty()) << "out of order because of it";
    expect_nak(probe.hear(probe.frame(kSendOnly, 5, 8)), rnr, 5);
    EXPECT_EQ(probe.end.state(), QpState::kRts);
    ASSERT_TRUE(probe.end.post_receive(1, 0, 64));
    const auto answers = probe.hear(probe.frame(kSendOnly, 5, 8));
    ASSERT_FALSE(answers.empty());
    EXPECT_EQ(answers.back().headers.bth.psn, Psn{5});
    EXPECT_EQ(probe.end.completions().size(), 1U);
  }
  EXPECT_EQ(counters().rnr_naks_sent, 8U);
}

// The data of a WRITE with immediate must not be written before a receive is available.
TEST_F(Order, WriteWithImmediateWaitsForItsReceive) {
  start();
  const auto memory = probe.end.memory;
  const wire::Frame frame = probe.frame_at(kWriteOnlyImm, 0, 4096, 8, 8);
  expect_nak(probe.hear(frame), wire::syndrome(wire::AckKind::kRnrNak, 1), 0);
  EXPECT_EQ(probe.end.memory, memory);
  ASSERT_TRUE(probe.end.post_receive(7, 0, 0));
  EXPECT_EQ(probe.hear(frame).back().headers.aeth.msn, 1U);
  EXPECT_EQ(probe.end.completions().at(0).opcode, WcOpcode::kRecvWriteImm);
}

TEST_F(Order, AnAtomicIsExecutedOnceAndAnsweredOften) {
  start();
  const std::uint64_t before = probe.end.word(4096);
  for (int i = 0; i < 3; ++i) {
    const auto answers = probe.hear(probe.fetch_add(0, 4096, 5));
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].operation(), kAtomicAcknowledge);
    EXPECT_EQ(answers[0].headers.bth.psn, Psn{0});
    EXPECT_EQ(answers[0].headers.atomic_ack, before) << "the result of the first time";
  }
  EXPECT_EQ(probe.end.word(4096), before + 5);
  // After other requests the first is still cached, up to the agreed depth.
  for (std::uint32_t psn = 1; psn < 4; ++psn) probe.hear(probe.fetch_add(psn, 4096, 5));
  EXPECT_EQ(probe.hear(probe.fetch_add(0, 4096, 5)).at(0).headers.atomic_ack, before);
  probe.hear(probe.fetch_add(4, 4096, 5));
  EXPECT_TRUE(probe.hear(probe.fetch_add(0, 4096, 5)).empty()) << "forgotten, and not executed";
  EXPECT_EQ(probe.end.word(4096), before + 25);
}

TEST_F(Order, AReadIsAnsweredAgainFromWhereThePeerAsks) {
  start(50);
  const auto whole = probe.hear(probe.frame_at(kReadRequest, 50, 4096, 4000));
  ASSERT_EQ(whole.size(), 4U);
  EXPECT_EQ(whole[0].operation(), kReadResponseFirst);
  EXPECT_EQ(whole[3].operation(), kReadResponseLast);
  EXPECT_EQ(whole[3].payload_length, 4000U - 3 * 1024);
  for (std::uint32_t i = 0; i < 4; ++i) EXPECT_EQ(whole[i].headers.bth.psn, Psn{50 + i});

  const auto rest = probe.hear(probe.frame_at(kReadRequest, 52, 4096 + 2048, 4000 - 2048));
  ASSERT_EQ(rest.size(), 2U);
  EXPECT_EQ(rest[0].headers.bth.psn, Psn{52});
  EXPECT_EQ(rest[0].payload_length, 1024U);
  EXPECT_EQ(rest[1].headers.bth.psn, Psn{53});
  EXPECT_EQ(rest[1].operation(), kReadResponseLast);
  expect_ack(probe.hear(write(54)), 54, 2);
}

// A restart must not allow reading other memory.
TEST_F(Order, AReadAgainMustBeTheSameRead) {
  start(50);
  probe.hear(probe.frame_at(kReadRequest, 50, 4096, 4000));
  wire::Frame other_key = probe.frame_at(kReadRequest, 50, 4096, 4000);
  other_key.headers.reth.rkey = RKey{1};
  EXPECT_TRUE(probe.hear(other_key).empty());
  EXPECT_TRUE(probe.hear(probe.frame_at(kReadRequest, 50, 0, 4000)).empty());
  EXPECT_TRUE(probe.hear(probe.frame_at(kReadRequest, 52, 4096, 4000)).empty());
  EXPECT_TRUE(probe.hear(probe.fetch_add(50, 4096, 1)).empty());
  EXPECT_EQ(probe.end.state(), QpState::kRts);
}

TEST_F(Order, AnAnsweredReadWhoseRegionWentAwayIsNotAnsweredAgain) {
  start();
  ASSERT_EQ(probe.hear(probe.frame_at(kReadRequest, 0, 4096, 8)).size(), 1U);
  const wire::Frame again = probe.frame_at(kReadRequest, 0, 4096, 8);
  ASSERT_TRUE(probe.end.nic.deregister_mr(probe.end.mr));
  EXPECT_TRUE(probe.hear(again).empty());
  EXPECT_EQ(probe.end.state(), QpState::kRts);
}

// The MSN in each answer counts the messages completed so far, including this one.
TEST_F(Order, AnswersComeInTheOrderOfTheRequests) {
  start();
  const wire::Frame burst[] = {write(0), probe.frame_at(kReadRequest, 1, 4096, 8),
                               probe.fetch_add(2, 4096, 1), write(3)};
  const auto answers = probe.hear(burst);
  ASSERT_EQ(answers.size(), 3U);
  EXPECT_EQ(answers[0].operation(), kReadResponseOnly);
  EXPECT_EQ(answers[1].operation(), kAtomicAcknowledge);
  EXPECT_EQ(answers[2].operation(), kAcknowledge);
  for (std::uint32_t i = 0; i < 3; ++i) EXPECT_EQ(answers[i].headers.bth.psn, Psn{i + 1});
}

}  // namespace
}  // namespace nerve::nic
