// Goal: the flags of a request take effect end to end: fences, read depth, unsignalled requests,
// solicited events.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::Pair;
using test::Seen;
using wire::Operation;
using Kinds = std::vector<EventKind>;

SendWr read_of(test::End& peer, std::uint64_t wr_id, SendFlags flags = SendFlags::kSignaled) {
  return {.wr_id = wr_id,
          .op = SendOp::kRead,
          .flags = flags,
          .remote_address = peer.at(0),
          .rkey = peer.keys.rkey};
}

std::vector<Operation> operations(const Pair& pair) {
  std::vector<Operation> all;
  for (const Seen& s : pair.seen) all.push_back(s.operation());
  return all;
}

TEST(Requests, AFencedOneWaitsForTheReadsBeforeIt) {
  for (const SendFlags fence : {SendFlags::kNone, SendFlags::kFence}) {
    Pair pair;
    pair.connect();
    ASSERT_TRUE(pair.a.post(read_of(pair.b, 1), 0, 8));
    ASSERT_TRUE(pair.a.post({.wr_id = 2,
                             .op = SendOp::kWrite,
                             .flags = fence,
                             .remote_address = pair.b.at(64),
                             .rkey = pair.b.keys.rkey},
                            0, 8));
    pair.exchange();
    const auto seen = operations(pair);
    const auto write = std::find(seen.begin(), seen.end(), Operation::kWriteOnly);
    const auto answer = std::find(seen.begin(), seen.end(), Operation::kReadResponseOnly);
    ASSERT_NE(write, seen.end());
    ASSERT_NE(answer, seen.end());
    EXPECT_EQ(answer < write, fence == SendFlags::kFence);
  }
}

TEST(Requests, ReadsBeyondTheDepthWait) {
  Pair pair;
  pair.a.attributes.max_read = 2;
  pair.connect();
  for (std::uint64_t id = 0; id < 7; ++id) ASSERT_TRUE(pair.a.post(read_of(pair.b, id), 0, 8));
  pair.exchange();
  int outstanding = 0;
  int most = 0;
  for (const Operation operation : operations(pair)) {
    outstanding += operation == Operation::kReadRequest ? 1 : 0;
    outstanding -= operation == Operation::kReadResponseOnly ? 1 : 0;
    most = std::max(most, outstanding);
  }
  EXPECT_EQ(most, 2);
  EXPECT_EQ(outstanding, 0);
  EXPECT_EQ(pair.a.completions().size(), 7U);
}

TEST(Requests, AReadWithoutAnyDepthFails) {
  Pair pair;
  pair.a.attributes.max_read = 0;
  pair.connect();
  ASSERT_TRUE(pair.a.post(read_of(pair.b, 1), 0, 8));
  pair.exchange();
  EXPECT_TRUE(pair.seen.empty());
  const auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].status, WcStatus::kLocalQpOperation);
  EXPECT_EQ(pair.a.state(), QpState::kErr);
}

// A region, a type 1 window, a window bound by another QP, and an unknown key.
TEST(Requests, AnInvalidationThatIsNotAllowedIsAMemoryManagementError) {
  for (int which = 0; which < 4; ++which) {
    Pair pair;
    pair.connect();
    const MwType type = which == 1 ? MwType::kType1 : MwType::kType2;
    const MwHandle mw = *pair.a.nic.alloc_mw(pair.a.pd, type);
    const RKey own = *pair.a.nic.rkey_of(mw);
    ASSERT_TRUE(pair.a.nic.post_send(pair.a.qp, {.op = SendOp::kBindMw,
                                                 .bind = {.window = mw,
                                                          .region = pair.a.mr,
                                                          .address = pair.a.at(0),
                                                          .length = 64,
                                                          .access = Access::kRemoteRead,
                                                          .new_rkey = own}}));
    pair.exchange();
    if (which == 2) {
      pair.a.qp = pair.a.make_qp();
      pair.a.bring_to(QpState::kRts);
    }
    const RKey key = which == 0 ? pair.a.keys.rkey : which == 3 ? RKey{1} : own;
    ASSERT_TRUE(
        pair.a.nic.post_send(pair.a.qp, {.wr_id = 5, .op = SendOp::kLocalInvalidate, .rkey = key}));
    pair.exchange();
    const auto got = pair.a.completions();
    ASSERT_EQ(got.size(), 1U) << which;
    EXPECT_EQ(got[0].wr_id, 5U);
    EXPECT_EQ(got[0].status, WcStatus::kMwBind) << which;
    EXPECT_EQ(pair.a.state(), QpState::kErr);
  }
}

TEST(Requests, UnsignalledOnesCompleteInSilenceUnlessTheyFail) {
  Pair pair;
  pair.connect();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    const SendFlags flags = id == 3 ? SendFlags::kSignaled : SendFlags::kNone;
    ASSERT_TRUE(pair.a.post(read_of(pair.b, id, flags), 0, 8));
  }
  pair.exchange();
  auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 3U);
  // The slots of the unsignalled requests are free again.
  for (int i = 0; i < 16; ++i) {
    ASSERT_TRUE(pair.a.post(read_of(pair.b, 9, SendFlags::kNone), 0, 8));
  }
  pair.exchange();
  SendWr wrong = read_of(pair.b, 10, SendFlags::kNone);
  wrong.rkey = RKey{0xdeadbeef};
  ASSERT_TRUE(pair.a.post(wrong, 0, 8));
  pair.exchange();
  got = pair.a.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 10U);
  EXPECT_EQ(got[0].status, WcStatus::kRemoteAccess);
}

TEST(Requests, AQpMaySignalAll) {
  Pair pair;
  test::End& a = pair.a;
  ASSERT_TRUE(a.nic.destroy_qp(a.qp));
  a.qp = *a.nic.create_qp(
      {.type = QpType::kRc, .pd = a.pd, .send_cq = a.cq, .recv_cq = a.cq, .signal_all = true});
  pair.connect();
  ASSERT_TRUE(a.post(read_of(pair.b, 5, SendFlags::kNone), 0, 8));
  pair.exchange();
  EXPECT_EQ(a.completions().size(), 1U);
}

TEST(Requests, SolicitedOnesRaiseAnEvent) {
  Pair pair;
  pair.connect();
  for (std::uint64_t id = 0; id < 4; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 5000));
  ASSERT_TRUE(pair.b.nic.arm_cq(pair.b.cq, /*solicited_only=*/true));
  ASSERT_TRUE(pair.a.post({}, 0, 5000));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), Kinds{});
  pair.seen.clear();
  ASSERT_TRUE(pair.a.post({.flags = SendFlags::kSolicited}, 0, 5000));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), Kinds{EventKind::kCompletion});
  for (const Seen& s : pair.seen) {
    EXPECT_EQ(s.headers.bth.solicited, s.operation() == Operation::kSendLast)
        << "only the last packet asks";
  }
  ASSERT_TRUE(pair.a.post({.flags = SendFlags::kSolicited}, 0, 10));
  pair.exchange();
  EXPECT_EQ(pair.b.events(), Kinds{}) << "armed once, told once";
}

// A WRITE completes nothing at the peer, so there is nothing to solicit.
TEST(Requests, AWriteSolicitsOnlyWithAnImmediate) {
  Pair pair;
  pair.connect();
  for (const SendOp op : {SendOp::kWrite, SendOp::kWriteImm}) {
    ASSERT_TRUE(pair.b.post_receive(1, 0, 0));
    pair.seen.clear();
    ASSERT_TRUE(pair.a.post({.op = op,
                             .flags = SendFlags::kSolicited,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, 8));
    pair.exchange();
    EXPECT_EQ(pair.seen.at(0).headers.bth.solicited, op == SendOp::kWriteImm);
  }
}

// A failed request ends the queue: it completes first, the others are flushed after it.
TEST(Requests, ThoseBehindAFailedOneAreFlushedInOrder) {
  Pair pair;
  pair.connect();
  ASSERT_TRUE(pair.b.post_receive(1, 0, 64));
  ASSERT_TRUE(pair.a.post({.wr_id = 1, .flags = SendFlags::kSignaled}, 0, 64));
  const Sge wrong{pair.a.at(0), 8, LKey{0xdead}};
  ASSERT_TRUE(pair.a.nic.post_send(pair.a.qp, {.wr_id = 2, .sges = {&wrong, 1}}));
  ASSERT_TRUE(pair.a.post({.wr_id = 3}, 0, 64));
  pair.exchange();
  const auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].status, WcStatus::kSuccess);
  EXPECT_EQ(got[1].status, WcStatus::kLocalProtection);
  EXPECT_EQ(got[2].status, WcStatus::kFlushed);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(got[i].wr_id, i + 1);
}

}  // namespace
}  // namespace nerve::nic
