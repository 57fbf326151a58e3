// Goal: post_send rejects what cannot be sent, with a reason and without changing anything. An
// accepted request is independent of the caller's buffers and lists from then on.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::said;
using enum SendOp;

constexpr SendOp kAllOps[] = {kSend,        kSendImm, kSendInvalidate,  kWrite,
                              kWriteImm,    kRead,    kCompareSwap,     kFetchAdd,
                              kAtomicWrite, kFlush,   kLocalInvalidate, kBindMw};

// The error, after checking that the engine neither sends nor completes anything.
std::string refusal(test::Pair& pair, const SendWr& wr) {
  const QpQuery before = *pair.a.nic.query_qp(pair.a.qp);
  const std::string answer = said(pair.a.nic.post_send(pair.a.qp, wr));
  EXPECT_NE(answer, "done");
  pair.exchange();
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_TRUE(pair.a.completions().empty());
  EXPECT_EQ(before.state, pair.a.state());
  EXPECT_EQ(before.attributes, pair.a.nic.query_qp(pair.a.qp)->attributes);
  return answer;
}

struct PostSend : ::testing::Test {
  test::Pair pair;
  test::End& a = pair.a;
  test::End& b = pair.b;
  void SetUp() override { pair.connect(); }
};

TEST_F(PostSend, NeedsAStateThatMaySend) {
  for (const QpState state : {QpState::kReset, QpState::kInit, QpState::kRtr}) {
    a.bring_to(state);
    EXPECT_EQ(refusal(pair, {}), "invalid: post send: the QP is not ready to send");
  }
}

TEST_F(PostSend, WaitsInSqdAndIsFlushedInErr) {
  a.bring_to(QpState::kSqd);
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 1, .flags = SendFlags::kSignaled}));
  pair.exchange();
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_TRUE(a.completions().empty());
  a.step(QpState::kErr);
  EXPECT_EQ(a.completions().at(0).wr_id, 1U);
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 2}));
  const auto got = a.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 2U);
  EXPECT_EQ(got[0].status, WcStatus::kFlushed);
}

TEST_F(PostSend, SeveralAreTakenTogetherOrNotAtAll) {
  const Sge word = a.sge(0, 8);
  const SendWr good{.wr_id = 1,
                    .op = kWrite,
                    .flags = SendFlags::kSignaled,
                    .sges = {&word, 1},
                    .remote_address = b.at(0),
                    .rkey = b.keys.rkey};
  SendWr bad = good;
  bad.op = kFetchAdd;
  const Sge half = a.sge(0, 4);
  bad.sges = {&half, 1};
  EXPECT_EQ(said(a.nic.post_sends(a.qp, std::array{good, bad})),
            "invalid: post send: an atomic needs eight bytes");
  pair.exchange();
  EXPECT_TRUE(pair.seen.empty());
  EXPECT_TRUE(a.completions().empty());
  EXPECT_EQ(said(a.nic.post_sends(a.qp, std::vector<SendWr>(17, good))).substr(0, 5), "queue");

  SendWr second = good;
  second.wr_id = 2;
  ASSERT_TRUE(a.nic.post_sends(a.qp, std::array{good, second}));
  pair.exchange();
  const auto got = a.completions();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[1].wr_id, 2U);
}

TEST(PostSendTypes, UnreliableOnesAreFlushedInSqe) {
  test::Pair unreliable{EndSetup{.type = QpType::kUc}};
  unreliable.connect();
  test::End& end = unreliable.a;
  const Sge wrong{end.at(0), 8, LKey{0xdead}};
  ASSERT_TRUE(end.nic.post_send(end.qp, {.wr_id = 1, .sges = {&wrong, 1}}));
  ASSERT_TRUE(end.nic.post_send(end.qp, {.wr_id = 2}));
  unreliable.exchange();
  EXPECT_EQ(end.state(), QpState::kSqe);
  ASSERT_TRUE(end.nic.post_send(end.qp, {.wr_id = 3}));
  const auto got = end.completions();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].status, WcStatus::kLocalProtection);
  EXPECT_EQ(got[1].status, WcStatus::kFlushed);
  EXPECT_EQ(got[2].status, WcStatus::kFlushed);
  end.step(QpState::kRts);  // and the QP continues
  ASSERT_TRUE(unreliable.b.post_receive(9, 0, 100));
  ASSERT_TRUE(end.post({.wr_id = 4, .flags = SendFlags::kSignaled}, 0, 100));
  unreliable.exchange();
  EXPECT_EQ(end.completions().at(0).status, WcStatus::kSuccess);
}

TEST(PostSendTypes, HaveTheirOwnOperations) {
  const auto taken = [](QpType type) {
    test::Pair pair{EndSetup{.type = type}};
    pair.connect();
    pair.a.step(QpState::kSqd);  // so that nothing starts
    const AhHandle ah = *pair.a.nic.create_ah(pair.a.pd, {.destination = pair.b.gid});
    std::vector<SendOp> ops;
    for (const SendOp op : kAllOps) {
      const bool word = op == kCompareSwap || op == kFetchAdd || op == kAtomicWrite;
      const Status status = pair.a.post({.op = op, .ah = ah}, 0, word ? 8 : 0);
      if (status) {
        ops.push_back(op);
      } else {
        EXPECT_EQ(said(status), "invalid: post send: not an operation of this QP type");
      }
    }
    return ops;
  };
  EXPECT_EQ(taken(QpType::kRc), (std::vector<SendOp>{std::begin(kAllOps), std::end(kAllOps)}));
  EXPECT_EQ(taken(QpType::kUc),
            (std::vector{kSend, kSendImm, kWrite, kWriteImm, kLocalInvalidate, kBindMw}));
  EXPECT_EQ(taken(QpType::kUd), (std::vector{kSend, kSendImm}));
}

TEST(PostSendTypes, PlainOnesHaveFewer) {
  const auto refused = [](QpType type) {
    test::Pair pair{EndSetup{.type = type, .plain = true}};
    pair.connect();
    const AhHandle ah = *pair.a.nic.create_ah(pair.a.pd, {.destination = pair.b.gid});
    std::vector<SendOp> ops;
    for (const SendOp op : kAllOps) {
      const bool word = op == kCompareSwap || op == kFetchAdd || op == kAtomicWrite;
      const Status status = pair.a.post({.op = op, .ah = ah}, 0, word ? 8 : 0);
      if (status) continue;
      if (said(status) == "invalid: post send: the QP was created as a plain one") {
        ops.push_back(op);
      }
    }
    return ops;
  };
  EXPECT_EQ(refused(QpType::kRc),
            (std::vector{kCompareSwap, kFetchAdd, kAtomicWrite, kFlush, kBindMw}));
  EXPECT_EQ(refused(QpType::kUc), (std::vector{kBindMw}));
  EXPECT_EQ(refused(QpType::kUd), std::vector<SendOp>{});
}

TEST_F(PostSend, RefusesMoreThanTheQueueHolds) {
  a.step(QpState::kSqd);
  for (int i = 0; i < 16; ++i) ASSERT_TRUE(a.nic.post_send(a.qp, {}));
  EXPECT_EQ(refusal(pair, {}), "queue full: post send: queue full");
}

TEST_F(PostSend, RefusesListsThatAreTooLong) {
  const std::array<Sge, 5> five{};
  EXPECT_EQ(refusal(pair, {.sges = five}), "invalid: post send: too many scatter/gather entries");
  EXPECT_TRUE(a.nic.post_send(a.qp, {.sges = std::span{five}.first(4)}));
}

TEST_F(PostSend, TakesMessagesUpToTwoToThe31) {
  const std::array<Sge, 2> halves{a.sge(0, 1U << 30), a.sge(0, 1U << 30)};
  const std::array<Sge, 3> beyond{a.sge(0, 1U << 30), a.sge(0, 1U << 30), a.sge(0, 1)};
  EXPECT_EQ(refusal(pair, {.sges = beyond}), "invalid: post send: message too long");
  const std::array<Sge, 2> around{a.sge(0, ~0U), a.sge(0, 2)};
  EXPECT_EQ(refusal(pair, {.sges = around}), "invalid: post send: message too long")
      << "the sum must not wrap";
  a.step(QpState::kSqd);
  EXPECT_EQ(said(a.nic.post_send(a.qp, {.sges = halves})), "done");
}

TEST_F(PostSend, KnowsTheLengthOfEachOperation) {
  for (const std::uint32_t length : {0U, 4U, 7U, 9U, 16U}) {
    const Sge list = a.sge(0, length);
    EXPECT_EQ(refusal(pair, {.op = kAtomicWrite, .sges = {&list, 1}}),
              "invalid: post send: an atomic write is of eight bytes");
    for (const SendOp op : {kCompareSwap, kFetchAdd}) {
      if (length >= 8) continue;
      EXPECT_EQ(refusal(pair, {.op = op, .sges = {&list, 1}}),
                "invalid: post send: an atomic needs eight bytes");
    }
  }
  for (const SendOp op : {kFlush, kLocalInvalidate, kBindMw}) {
    const Sge list = a.sge(0, 1);
    EXPECT_EQ(refusal(pair, {.op = op, .sges = {&list, 1}}),
              "invalid: post send: this operation carries no data");
  }
}

TEST_F(PostSend, RefusesInlineWhereItCannotBe) {
  const Sge word = a.sge(0, 8);
  for (const SendOp op : {kRead, kCompareSwap, kFetchAdd}) {
    EXPECT_EQ(refusal(pair, {.op = op, .flags = SendFlags::kInline, .sges = {&word, 1}}),
              "invalid: post send: cannot be inline");
  }
  const Sge list = a.sge(0, 65);
  EXPECT_EQ(refusal(pair, {.flags = SendFlags::kInline, .sges = {&list, 1}}),
            "invalid: post send: too long to be inline");
}

TEST_F(PostSend, TakesInlineDataAtOnce) {
  std::array<std::byte, 8> first{};
  std::array<std::byte, 56> second{};
  first.fill(std::byte{1});
  second.fill(std::byte{2});
  // More entries than the queue allows, and no memory key: only the bytes matter.
  std::array<Sge, 6> list{};
  list[1] = {reinterpret_cast<std::uint64_t>(first.data()), 8, {}};
  list[5] = {reinterpret_cast<std::uint64_t>(second.data()), 56, {}};
  ASSERT_TRUE(b.post_receive(1, 0, 64));
  ASSERT_TRUE(a.nic.post_send(a.qp, {.flags = SendFlags::kInline, .sges = list}));
  first.fill(std::byte{0xff});
  second.fill(std::byte{0xff});
  pair.exchange();
  std::vector<std::byte> expected(64, std::byte{2});
  std::fill_n(expected.begin(), 8, std::byte{1});
  EXPECT_EQ(b.bytes(0, 64), expected);
}

TEST_F(PostSend, CarriesNothingWhenThereIsNothing) {
  b.fill(0, 64, 3);
  const auto before = b.bytes(0, 64);
  ASSERT_TRUE(b.post_receive(1, 0, 64));
  ASSERT_TRUE(a.nic.post_send(a.qp, {.wr_id = 1, .flags = SendFlags::kSignaled}));
  const Sge nothing{.address = 0, .length = 0, .lkey = LKey{77}};  // needs no key either
  ASSERT_TRUE(a.nic.post_send(
      a.qp, {.wr_id = 2, .op = kWrite, .flags = SendFlags::kSignaled, .sges = {&nothing, 1}}));
  ASSERT_TRUE(a.nic.post_send(
      a.qp, {.wr_id = 3, .op = kRead, .flags = SendFlags::kSignaled, .sges = {&nothing, 1}}));
  pair.exchange();
  const auto sent = a.completions();
  ASSERT_EQ(sent.size(), 3U);
  for (const Completion& c : sent) EXPECT_EQ(c.status, WcStatus::kSuccess);
  const auto received = b.completions();
  ASSERT_EQ(received.size(), 1U);
  EXPECT_EQ(received[0].bytes, 0U);
  EXPECT_EQ(b.bytes(0, 64), before);
}

TEST(PostSendDatagram, NeedsAnAddressHandle) {
  test::Pair pair{EndSetup{.type = QpType::kUd}};
  pair.connect();
  EXPECT_EQ(refusal(pair, {}), "invalid: post send: no address handle");
}

// The request before it is sent, it completes with a length error, and those after it are flushed.
TEST(PostSendDatagram, LongerThanTheMtuEndsWithALengthError) {
  test::Pair pair{EndSetup{.type = QpType::kUd}};
  pair.connect();
  const AhHandle ah = *pair.a.nic.create_ah(pair.a.pd, {.destination = pair.b.gid});
  std::uint64_t id = 0;
  for (const std::uint32_t length : {4096U, 4097U, 8U}) {
    ASSERT_TRUE(pair.a.post(
        {.wr_id = ++id, .flags = SendFlags::kSignaled, .ah = ah, .remote_qpn = pair.b.qpn()}, 0,
        length));
  }
  pair.exchange();
  ASSERT_EQ(pair.seen.size(), 1U);
  EXPECT_EQ(pair.seen[0].payload_length, 4096U);
  const auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].status, WcStatus::kSuccess);
  EXPECT_EQ(got[1].wr_id, 2U);
  EXPECT_EQ(got[1].status, WcStatus::kLocalLength);
  EXPECT_EQ(got[2].status, WcStatus::kFlushed);
  EXPECT_EQ(pair.a.state(), QpState::kSqe);
}

TEST_F(PostSend, AtomicsUseEightBytesOfALongerList) {
  for (const SendOp op : {kCompareSwap, kFetchAdd}) {
    b.fill(64, 8, 5);
    const std::uint64_t found = b.word(64);
    a.fill(0, 64, 9);
    auto expected = a.bytes(0, 64);
    std::memcpy(expected.data(), &found, sizeof found);
    ASSERT_TRUE(a.post({.op = op,
                        .flags = SendFlags::kSignaled,
                        .remote_address = b.at(64),
                        .rkey = b.keys.rkey,
                        .compare_or_add = found,
                        .swap = 2},
                       0, 64));
    pair.exchange();
    const auto got = a.completions();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].status, WcStatus::kSuccess);
    EXPECT_EQ(got[0].bytes, 8U);
    EXPECT_EQ(a.bytes(0, 64), expected) << "the bytes behind the first eight are as they were";
    EXPECT_EQ(b.word(64), op == kCompareSwap ? 2 : 2 * found);
  }
}

}  // namespace
}  // namespace nerve::nic
