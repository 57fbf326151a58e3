// Tests of the RC transport, one behaviour at a time, on a deterministic network.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/dst/pair.h"

namespace nerve::dst {
namespace {

using nic::QpState;
using nic::WcStatus;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::Operation;

std::vector<WcStatus> statuses(const Pair::End& end) {
  std::vector<WcStatus> all;
  for (const nic::Completion& c : end.completions) all.push_back(c.status);
  return all;
}

// A dead peer is tried 1 + retry_count times, each after the configured timeout.
TEST(Timeout, SendsOncePlusRetryCountTimesThenGivesUp) {
  Pair pair{PairSetup{.faults = {.loss = 1000}}};
  nic::QpAttributes a = pair.attributes(0);
  a.timeout = 10;  // 4.096 us * 2^10 = 4.194304 ms
  a.retry_count = 3;
  pair.connect(0, a);
  pair.connect(1, pair.attributes(1));
  ASSERT_TRUE(pair.write(0, 1, 8));
  pair.run_for(seconds{1});
  const auto sent = pair.frames_from(0);
  ASSERT_EQ(sent.size(), 4U);
  for (std::size_t i = 1; i < sent.size(); ++i) {
    EXPECT_GE(sent[i].at - sent[i - 1].at, std::chrono::nanoseconds{4'194'304});
    EXPECT_LE(sent[i].at - sent[i - 1].at,
              std::chrono::nanoseconds{4 * 4'194'304});  // IBTA 9.9.2.1
    EXPECT_EQ(sent[i].parcel.headers.bth.psn, sent[0].parcel.headers.bth.psn);
  }
  EXPECT_EQ(statuses(pair.end(0)), (std::vector{WcStatus::kRetryExceeded}));
  EXPECT_EQ(pair.nic(0).query_qp(pair.end(0).qp)->state, QpState::kErr);
}

// A timeout of zero waits forever.
TEST(Timeout, ZeroMeansNever) {
  Pair pair{PairSetup{.faults = {.loss = 1000}}};
  nic::QpAttributes a = pair.attributes(0);
  a.timeout = 0;
  pair.connect(0, a);
  ASSERT_TRUE(pair.write(0, 1, 8));
  pair.run_for(seconds{100});
  EXPECT_EQ(pair.frames_from(0).size(), 1U);
  EXPECT_TRUE(pair.end(0).completions.empty());
}

// Without a receive the sender gets an RNR NAK, waits, and gives up after rnr_retry more attempts.
TEST(Rnr, RetriesAfterTheTimerAndGivesUp) {
  PairSetup setup;
  setup.config[0].flow_control.heed_credits = false;
  Pair pair{setup};
  nic::QpAttributes a = pair.attributes(0);
  a.rnr_retry = 2;
  pair.connect(0, a);
  pair.connect(1, pair.attributes(1));
  ASSERT_TRUE(pair.send(0, 1, 8));
  pair.run_for(seconds{1});
  const auto sent = pair.frames_from(0);
  ASSERT_EQ(sent.size(), 3U);
  for (std::size_t i = 1; i < sent.size(); ++i) {
    EXPECT_GE(sent[i].at - sent[i - 1].at, wire::rnr_delay(12));
  }
  EXPECT_EQ(statuses(pair.end(0)), (std::vector{WcStatus::kRnrRetryExceeded}));
  EXPECT_EQ(pair.nic(0).counters().rnr_naks_received, 3U);
}

// A receive posted during the wait lets the message through, whole and once.
TEST(Rnr, LateReceiveIsEnough) {
  Pair pair{PairSetup{}};
  pair.connect();
  ASSERT_TRUE(pair.send(0, 1, 3000));
  pair.run_for(microseconds{100});
  EXPECT_TRUE(pair.end(0).completions.empty());
  ASSERT_TRUE(pair.receive(1, 9, 4096));
  pair.run_for(seconds{1});
  EXPECT_EQ(statuses(pair.end(0)), (std::vector{WcStatus::kSuccess}));
  ASSERT_EQ(pair.end(1).completions.size(), 1U);
  EXPECT_EQ(pair.end(1).completions[0].bytes, 3000U);
  EXPECT_TRUE(std::ranges::equal(
      pair.memory(1).actual(pair.memory(1).zone_start(MemoryModel::kLocal), 3000),
      pair.memory(0).actual(0, 3000)));
}

// A receiver that has no receives for long is probed with one packet, not with all that wait behind
// it.
TEST(Rnr, AReceiverThatStaysBehindIsNotFlooded) {
  PairSetup setup;
  setup.config[0].flow_control.heed_credits = false;
  Pair pair{setup};
  pair.connect();
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(pair.send(0, i, 8));
  pair.run_for(milliseconds{20});
  const std::uint64_t refused = pair.nic(0).counters().rnr_naks_received;
  EXPECT_GE(refused, 20U);
  EXPECT_EQ(pair.frames_from(0).size(), 8 + 8 + (refused - 2));
  EXPECT_TRUE(pair.frames().back().parcel.headers.bth.psn == Psn{100});
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(pair.receive(1, i, 64));
  pair.run_for(milliseconds{20});
  EXPECT_EQ(statuses(pair.end(0)), (std::vector<WcStatus>(8, WcStatus::kSuccess)));
  EXPECT_EQ(pair.end(1).completions.size(), 8U);
  EXPECT_LE(pair.frames_from(0).size(), 8 + 8 + (refused - 2) + 8);
}

// A receiver that was briefly late gets everything as soon as its timer has expired.
TEST(Rnr, AReceiverThatIsBrieflyLateLosesNoTime) {
  PairSetup setup;
  setup.config[0].flow_control.heed_credits = false;
  Pair pair{setup};
  pair.connect();
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(pair.send(0, i, 8));
  pair.run_for(microseconds{100});
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(pair.receive(1, i, 64));
  pair.run_for(milliseconds{20});
  const auto sent = pair.frames_from(0);
  ASSERT_EQ(sent.size(), 16U);
  EXPECT_EQ(sent[8].at, sent[15].at);
  EXPECT_EQ(statuses(pair.end(0)), (std::vector<WcStatus>(8, WcStatus::kSuccess)));
}

// A message may span the end of the PSN space.
TEST(Psn, WrapsInsideAMessage) {
  Pair pair{PairSetup{}};
  nic::QpAttributes a = pair.attributes(0);
  nic::QpAttributes b = pair.attributes(1);
  a.sq_psn = b.rq_psn = Psn{0xff'fffe};
  pair.connect(0, a);
  pair.connect(1, b);
  ASSERT_TRUE(pair.write(0, 1, 5 * 1024));
  pair.run_for(milliseconds{1});
  const auto sent = pair.frames_from(0);
  ASSERT_EQ(sent.size(), 5U);
  EXPECT_EQ(sent[1].parcel.headers.bth.psn, Psn{0xff'ffff});
  EXPECT_EQ(sent[2].parcel.headers.bth.psn, Psn{0});
  EXPECT_EQ(statuses(pair.end(0)), (std::vector{WcStatus::kSuccess}));
}

// No more READs are in flight than the initiator depth allows.
TEST(ReadDepth, IsHeldBack) {
  Pair pair{PairSetup{.faults = {.delay = milliseconds{1}}}};
  nic::QpAttributes a = pair.attributes(0);
  a.max_read = 2;
  pair.connect(0, a);
  pair.connect(1, pair.attributes(1));
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(pair.read(0, i, 16));
  pair.run_for(microseconds{500});
  EXPECT_EQ(pair.frames_from(0).size(), 2U);
  pair.run_for(milliseconds{20});
  EXPECT_EQ(statuses(pair.end(0)), (std::vector<WcStatus>(6, WcStatus::kSuccess)));
}

// A peer that exceeds the granted number of concurrent READs is rejected.
TEST(ReadDepth, ExceededByThePeerIsRefused) {
  Pair pair{PairSetup{.faults = {.delay = milliseconds{1}}}};
  nic::QpAttributes b = pair.attributes(1);
  b.max_dest_read = 1;
  pair.connect(0, pair.attributes(0));
  pair.connect(1, b);
  for (std::uint64_t i = 0; i < 4; ++i) ASSERT_TRUE(pair.read(0, i, 4096));
  pair.run_for(seconds{1});
  const auto got = statuses(pair.end(0));
  ASSERT_EQ(got.size(), 4U);
  EXPECT_EQ(std::ranges::count(got, WcStatus::kRemoteInvalidRequest), 1);
  EXPECT_TRUE(pair.saw_event(1, nic::EventKind::kQpRequestError));
}

// The sender obeys the receiver's credits.
TEST(Credits, HoldTheSenderBack) {
  Pair pair{PairSetup{.faults = {.delay = microseconds{100}}}};
  pair.connect();
  ASSERT_TRUE(pair.receive(1, 1, 64));
  ASSERT_TRUE(pair.send(0, 0, 8));
  pair.run_for(milliseconds{1});
  EXPECT_EQ(pair.end(0).completions.size(), 1U);
  // The last ACK advertised zero credits: one message is sent as a probe, not seven.
  for (std::uint64_t i = 1; i < 8; ++i) ASSERT_TRUE(pair.send(0, i, 8));
  pair.run_for(milliseconds{10});
  const auto sent = pair.frames_from(0);
  EXPECT_TRUE(std::ranges::all_of(sent, [](const SentFrame& frame) {
    return frame.parcel.headers.bth.psn.distance_from(Psn{100}) <= 1;
  }));
  EXPECT_EQ(pair.end(0).completions.size(), 1U);
  for (std::uint64_t i = 2; i <= 8; ++i) ASSERT_TRUE(pair.receive(1, i, 64));
  pair.run_for(seconds{2});
  EXPECT_EQ(pair.end(0).completions.size(), 8U);
  EXPECT_EQ(pair.end(1).completions.size(), 8U);
}

// A receive that the engine may not write to fails on both sides.
TEST(BadReceive, FailsBothSides) {
  Pair pair{PairSetup{}};
  pair.connect();
  const nic::Sge sge{.address = MemoryModel::iova(0),
                     .length = 64,
                     .lkey = pair.end(1).host->keys(MemoryModel::kStatic).lkey};
  ASSERT_TRUE(pair.nic(1).post_recv(pair.end(1).qp, {.wr_id = 5, .sges = {&sge, 1}}));
  ASSERT_TRUE(pair.send(0, 1, 8));
  pair.run_for(milliseconds{10});
  EXPECT_EQ(statuses(pair.end(0)), (std::vector{WcStatus::kRemoteOperation}));
  EXPECT_EQ(statuses(pair.end(1)), (std::vector{WcStatus::kLocalProtection}));
  EXPECT_TRUE(pair.memory(1).verify().empty()) << "not a byte may have moved";
}

// Requests and receives that were not executed are flushed in the order of posting.
TEST(Flush, KeepsTheOrder) {
  Pair pair{PairSetup{.faults = {.loss = 1000}}};
  pair.connect();
  for (std::uint64_t i = 0; i < 3; ++i) ASSERT_TRUE(pair.write(0, i, 8));
  for (std::uint64_t i = 10; i < 13; ++i) ASSERT_TRUE(pair.receive(0, i, 8));
  pair.run_for(microseconds{10});
  ASSERT_TRUE(pair.nic(0).modify_qp(pair.end(0).qp, QpState::kErr, nic::QpAttrs::kNone, {}));
  pair.run_for(microseconds{10});
  std::vector<std::uint64_t> sends;
  std::vector<std::uint64_t> receives;
  for (const nic::Completion& c : pair.end(0).completions) {
    EXPECT_EQ(c.status, WcStatus::kFlushed);
    (c.wr_id < 10 ? sends : receives).push_back(c.wr_id);
  }
  EXPECT_EQ(sends, (std::vector<std::uint64_t>{0, 1, 2}));
  EXPECT_EQ(receives, (std::vector<std::uint64_t>{10, 11, 12}));
}

// SQD completes what was sent, raises the drained event, and holds the rest until RTS.
TEST(Sqd, DrainsAndTells) {
  Pair pair{PairSetup{.faults = {.delay = milliseconds{1}}}};
  pair.connect();
  ASSERT_TRUE(pair.write(0, 1, 8));
  pair.run_for(microseconds{10});
  nic::QpAttributes a;
  a.sqd_notify = true;
  ASSERT_TRUE(pair.nic(0).modify_qp(pair.end(0).qp, QpState::kSqd, nic::QpAttrs::kSqdNotify, a));
  ASSERT_TRUE(pair.write(0, 2, 8));
  pair.run_for(microseconds{10});
  EXPECT_FALSE(pair.saw_event(0, nic::EventKind::kSqDrained));
  EXPECT_TRUE(pair.nic(0).query_qp(pair.end(0).qp)->sq_draining);
  pair.run_for(milliseconds{10});
  EXPECT_TRUE(pair.saw_event(0, nic::EventKind::kSqDrained));
  EXPECT_EQ(pair.end(0).completions.size(), 1U);
  ASSERT_TRUE(pair.nic(0).modify_qp(pair.end(0).qp, QpState::kRts, nic::QpAttrs::kNone, {}));
  pair.run_for(milliseconds{10});
  EXPECT_EQ(statuses(pair.end(0)), (std::vector<WcStatus>(2, WcStatus::kSuccess)));
}

}  // namespace
}  // namespace nerve::dst
