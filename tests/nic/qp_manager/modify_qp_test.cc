// Goal: modify_qp checks every value before it changes anything, query_qp returns what was set, and
// RESET clears all former state.
#include <gtest/gtest.h>

#include "nic/nic.h"
#include "tests/nic/pair.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::said;
using enum QpAttrs;

struct ModifyQp : ::testing::Test {
  test::Pair pair;
  test::End& end = pair.a;

  void SetUp() override {
    end.attributes.path.destination = pair.b.gid;
    end.attributes.dest_qp = pair.b.qpn();
    end.attributes.rq_psn = Psn{0x111111};
    end.attributes.sq_psn = Psn{0x222222};
  }
  // The error of a transition with its required attributes after `change`, which must not change
  // the QP.
  template <class Change>
  std::string with(QpState to, QpAttrs given, Change change) {
    QpAttributes values = end.attributes;
    change(values);
    const QpQuery before = *end.nic.query_qp(end.qp);
    const std::string answer = said(end.nic.modify_qp(end.qp, to, given, values));
    const QpQuery after = *end.nic.query_qp(end.qp);
    EXPECT_EQ(before.state, after.state);
    EXPECT_EQ(before.attributes, after.attributes) << "a refused step changed something";
    return answer;
  }
  static constexpr QpAttrs kToInit = kPkeyIndex | kPort | kAccess;
  static constexpr QpAttrs kToRtr =
      kPath | kPathMtu | kDestQp | kRqPsn | kMaxDestRead | kMinRnrTimer;
  static constexpr QpAttrs kToRts = kSqPsn | kTimeout | kRetryCount | kRnrRetry | kMaxRead;
};

TEST_F(ModifyQp, JudgesEachValueOfInit) {
  const auto init = [&](auto change) { return with(QpState::kInit, kToInit, change); };
  EXPECT_EQ(init([](auto& a) { a.port = 2; }), "invalid: modify qp: no such port");
  EXPECT_EQ(init([](auto& a) { a.port = 0; }), "invalid: modify qp: no such port");
  EXPECT_EQ(init([](auto& a) { a.pkey_index = 1; }),
            "invalid: modify qp: pkey_index beyond the table");
}

TEST_F(ModifyQp, JudgesEachValueOfRtr) {
  end.bring_to(QpState::kInit);
  const auto rtr = [&](auto change) { return with(QpState::kRtr, kToRtr, change); };
  EXPECT_EQ(rtr([](auto& a) { a.path.destination = {}; }), "invalid: address: no GID given");
  EXPECT_EQ(rtr([](auto& a) { a.path.source_gid_index = 1; }),
            "invalid: address: no GID at this index");
  EXPECT_EQ(rtr([](auto& a) { a.path.is_global = false; }), "invalid: address: RoCE needs a GRH");
  EXPECT_EQ(rtr([](auto& a) { a.path.destination = wire::Gid::ipv4(224, 0, 0, 9); }),
            "invalid: modify qp: a connection cannot lead to a multicast address");
  const std::string mtu = "invalid: modify qp: path_mtu beyond the port's";
  EXPECT_EQ(rtr([](auto& a) { a.path_mtu = Mtu{8192}; }), mtu);
  EXPECT_EQ(rtr([](auto& a) { a.path_mtu = Mtu{128}; }), mtu);
  EXPECT_EQ(rtr([](auto& a) { a.path_mtu = Mtu{1000}; }), mtu);
  EXPECT_EQ(rtr([](auto& a) { a.path_mtu = Mtu{0}; }), mtu);
  EXPECT_EQ(rtr([](auto& a) { a.max_dest_read = 129; }),
            "invalid: modify qp: max_dest_rd_atomic too large");
  EXPECT_EQ(rtr([](auto& a) { a.min_rnr_timer = 32; }),
            "invalid: modify qp: min_rnr_timer is five bits");
}

TEST_F(ModifyQp, JudgesEachValueOfRts) {
  end.bring_to(QpState::kRtr);
  const auto rts = [&](auto change) {
    return with(QpState::kRts, kToRts | kCurState, [&](QpAttributes& a) {
      a.cur_state = QpState::kRtr;
      change(a);
    });
  };
  EXPECT_EQ(rts([](auto& a) { a.timeout = 32; }), "invalid: modify qp: timeout is five bits");
  EXPECT_EQ(rts([](auto& a) { a.retry_count = 8; }), "invalid: modify qp: retry_cnt is three bits");
  EXPECT_EQ(rts([](auto& a) { a.rnr_retry = 8; }), "invalid: modify qp: rnr_retry is three bits");
  EXPECT_EQ(rts([](auto& a) { a.max_read = 129; }), "invalid: modify qp: max_rd_atomic too large");
  EXPECT_EQ(rts([](auto& a) { a.cur_state = QpState::kInit; }),
            "invalid: modify qp: cur_qp_state is not the current state");
  const std::string migration = "not supported: modify qp: path migration is not supported";
  EXPECT_EQ(with(QpState::kRts, kToRts | kAltPath, [](auto&) {}), migration);
  EXPECT_EQ(with(QpState::kRts, kToRts | kPathMigState, [](auto&) {}), migration);
}

TEST_F(ModifyQp, QueryTellsWhatEachStepSet) {
  end.step(QpState::kInit);
  QpQuery q = *end.nic.query_qp(end.qp);
  EXPECT_EQ(q.state, QpState::kInit);
  EXPECT_EQ(q.attributes.cur_state, QpState::kInit);
  EXPECT_EQ(q.attributes.access, end.attributes.access);
  EXPECT_EQ(q.attributes.dest_qp, Qpn{}) << "not given yet";
  end.step(QpState::kRtr);
  q = *end.nic.query_qp(end.qp);
  EXPECT_EQ(q.state, QpState::kRtr);
  EXPECT_EQ(q.attributes.path, end.attributes.path);
  EXPECT_EQ(q.attributes.path_mtu, Mtu::k1024);
  EXPECT_EQ(q.attributes.dest_qp, pair.b.qpn());
  EXPECT_EQ(q.attributes.rq_psn, Psn{0x111111});
  EXPECT_EQ(q.attributes.max_dest_read, 4);
  EXPECT_EQ(q.attributes.min_rnr_timer, 1);
  EXPECT_EQ(q.attributes.timeout, 0) << "not given yet";
  end.step(QpState::kRts);
  q = *end.nic.query_qp(end.qp);
  EXPECT_EQ(q.state, QpState::kRts);
  EXPECT_EQ(q.attributes.sq_psn, Psn{0x222222});
  EXPECT_EQ(q.attributes.timeout, 10);
  EXPECT_EQ(q.attributes.retry_count, 7);
  EXPECT_EQ(q.attributes.rnr_retry, 7);
  EXPECT_EQ(q.attributes.max_read, 4);
  end.step(QpState::kErr);
  EXPECT_EQ(end.state(), QpState::kErr);
  end.step(QpState::kReset);
  q = *end.nic.query_qp(end.qp);
  EXPECT_EQ(q.state, QpState::kReset);
  EXPECT_EQ(q.attributes, QpAttributes{}) << "nothing is left";
  EXPECT_EQ(q.caps, end.setup.caps) << "but what it was created with";
}

TEST_F(ModifyQp, QueryTellsWhereThePsnsStand) {
  pair.b.attributes.rq_psn = Psn{0x222222};
  pair.b.attributes.sq_psn = Psn{0x111111};
  pair.connect();
  ASSERT_TRUE(pair.a.post(
      {.op = SendOp::kWrite, .remote_address = pair.b.at(0), .rkey = pair.b.keys.rkey}, 0, 3000));
  pair.exchange();
  EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->attributes.sq_psn, Psn{0x222225});
  EXPECT_EQ(pair.b.nic.query_qp(pair.b.qp)->attributes.rq_psn, Psn{0x222225});
}

// Both ends are reset while work of every kind is in progress.
TEST(ModifyQpReset, LeavesAQpThatWorksAsNew) {
  test::Pair pair;
  pair.connect();
  for (int life = 0; life < 3; ++life) {
    pair.a.fill(0, 5000, static_cast<std::uint8_t>(life));
    ASSERT_TRUE(pair.b.post_receive(1, 0, 5000));
    ASSERT_TRUE(pair.a.post({.wr_id = 2, .flags = SendFlags::kSignaled}, 0, 5000));
    pair.exchange();
    EXPECT_EQ(pair.b.bytes(0, 5000), pair.a.bytes(0, 5000));
    ASSERT_EQ(pair.a.completions().size(), 1U);
    ASSERT_EQ(pair.b.completions().size(), 1U);

    pair.lose = [](const test::Seen& s) { return !s.from_a || s.headers.bth.psn.value() % 3 == 2; };
    ASSERT_TRUE(pair.b.post_receive(3, 0, 5000));
    ASSERT_TRUE(pair.a.post({.wr_id = 4, .flags = SendFlags::kSignaled}, 0, 5000));
    ASSERT_TRUE(pair.a.post({.wr_id = 5,
                             .op = SendOp::kRead,
                             .flags = SendFlags::kSignaled,
                             .remote_address = pair.b.at(0),
                             .rkey = pair.b.keys.rkey},
                            0, 5000));
    pair.exchange();
    pair.lose = nullptr;
    pair.connect();  // through RESET
    EXPECT_TRUE(pair.a.completions().empty()) << "what was posted is gone without a word";
    EXPECT_TRUE(pair.b.completions().empty());
    EXPECT_FALSE(pair.a.nic.next_deadline()) << "no timer of the former life";
    pair.seen.clear();
    pair.exchange();
    EXPECT_TRUE(pair.seen.empty()) << "no frame of the former life";
  }
}

TEST(ModifyQpError, FlushesWhatIsPostedInOrder) {
  test::Pair pair;
  pair.connect();
  for (std::uint64_t id = 1; id <= 3; ++id) {
    ASSERT_TRUE(pair.a.post_receive(10 + id, 0, 64));
    ASSERT_TRUE(pair.a.post({.wr_id = id}, 0, 64));  // unsignalled: a flush completes it in any
                                                     // case
  }
  pair.a.step(QpState::kErr);
  const auto got = pair.a.completions();
  ASSERT_EQ(got.size(), 6U);
  const std::uint64_t expected[] = {1, 2, 3, 11, 12, 13};
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(got[i].wr_id, expected[i]);
    EXPECT_EQ(got[i].status, WcStatus::kFlushed);
    EXPECT_EQ(got[i].qpn, pair.a.qpn());
  }
  pair.exchange();
  EXPECT_TRUE(pair.seen.empty());
  ASSERT_TRUE(pair.a.post_receive(14, 0, 64));
  ASSERT_EQ(pair.a.completions().size(), 1U) << "what comes later is flushed at once";
}

TEST(ModifyQpDrain, TellsWhenTheQueueIsDrained) {
  using Kinds = std::vector<EventKind>;
  for (const bool notify : {false, true}) {
    test::Pair pair;
    pair.connect();
    ASSERT_TRUE(pair.b.post_receive(1, 0, 5000));
    ASSERT_TRUE(pair.a.post({.wr_id = 1, .flags = SendFlags::kSignaled}, 0, 5000));
    TxBurst burst{8};
    ASSERT_GT(pair.a.nic.transmit(burst, pair.now), 0U);  // in flight, and lost
    ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, QpState::kSqd, kSqdNotify, {.sqd_notify = notify}));
    ASSERT_TRUE(pair.a.post({.wr_id = 2, .flags = SendFlags::kSignaled}, 0, 100));
    EXPECT_TRUE(pair.a.nic.query_qp(pair.a.qp)->sq_draining);
    EXPECT_TRUE(pair.a.events().empty());
    pair.wait(std::chrono::milliseconds{20});  // the timer recovers it
    EXPECT_EQ(pair.a.events(), notify ? Kinds{EventKind::kSqDrained} : Kinds{});
    EXPECT_FALSE(pair.a.nic.query_qp(pair.a.qp)->sq_draining);
    ASSERT_EQ(pair.a.completions().size(), 1U) << "what was not begun waits";
    ASSERT_TRUE(pair.b.post_receive(2, 0, 5000));
    pair.a.step(QpState::kRts);
    pair.exchange();
    EXPECT_EQ(pair.a.completions().size(), 1U);
  }
}

TEST(ModifyQpDrain, TellsOfAQueueThatWasEmpty) {
  for (const QpType type : {QpType::kRc, QpType::kUc, QpType::kUd}) {
    test::Pair pair{test::EndSetup{.type = type}};
    pair.connect();
    ASSERT_TRUE(pair.a.nic.modify_qp(pair.a.qp, QpState::kSqd, kSqdNotify, {.sqd_notify = true}));
    pair.exchange();
    EXPECT_EQ(pair.a.events(), std::vector{EventKind::kSqDrained});
    EXPECT_FALSE(pair.a.nic.query_qp(pair.a.qp)->sq_draining);
  }
}

// The replay cache was sized for the depth in RTR.
TEST(ModifyQpDrain, MayDeepenTheRespondersReads) {
  test::Probe probe;
  probe.end.attributes.max_dest_read = 0;
  probe.end.bring_to(QpState::kRts);
  probe.end.step(QpState::kSqd);
  ASSERT_TRUE(
      probe.end.nic.modify_qp(probe.end.qp, QpState::kSqd, kMaxDestRead, {.max_dest_read = 16}));
  std::vector<wire::Frame> reads;
  for (std::uint32_t psn = 0; psn < 16; ++psn) {
    reads.push_back(probe.frame_at(wire::Operation::kReadRequest, psn, psn * 8, 8));
  }
  const auto answers = probe.hear(reads);
  ASSERT_EQ(answers.size(), 16U);
  for (std::uint32_t psn = 0; psn < 16; ++psn) {
    EXPECT_EQ(answers[psn].operation(), wire::Operation::kReadResponseOnly);
    EXPECT_EQ(answers[psn].headers.bth.psn, Psn{psn});
  }
}

}  // namespace
}  // namespace nerve::nic
