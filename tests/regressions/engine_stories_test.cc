// What once went wrong in the engine, each as the shortest story that shows it.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <vector>

#include "base/no_contents.h"
#include "nic/nic.h"

namespace nerve::nic {
namespace {

struct Options {
  QpType type{QpType::kRc};
  Mtu mtu{Mtu::k1024};
  std::uint8_t max_dest{4}, max_read{4}, timeout{10}, retry{7};
  MemoryPort* port{};
  std::uint64_t length{1 << 24};
  Rate rate{};
};

struct Side {
  explicit Side(std::uint8_t last, Options o = {})
      : opt{o}, nic{NicConfig{}}, gid{wire::Gid::ipv4(10, 0, 0, last)} {
    EXPECT_TRUE(nic.set_gid(0, gid));
    pd = *nic.alloc_pd();
    cq = *nic.create_cq({.depth = 64});
    qp = make();
    if (o.port == nullptr) memory.resize(o.length);
    base = o.port == nullptr ? reinterpret_cast<std::uint64_t>(memory.data()) : 0x1000;
    mr = *nic.register_mr({.pd = pd,
                           .address = base,
                           .length = o.length,
                           .iova = base,
                           .access = Access::kLocalWrite | Access::kRemoteWrite |
                                     Access::kRemoteRead | Access::kRemoteAtomic | Access::kMwBind,
                           .port = o.port});
    keys = *nic.keys_of(mr);
  }
  QpHandle make() {
    return *nic.create_qp({.type = opt.type,
                           .pd = pd,
                           .send_cq = cq,
                           .recv_cq = cq,
                           .caps = {.max_send_wr = 16, .max_recv_wr = 16}});
  }
  Status step(QpState to, QpAttrs given, const QpAttributes& a) {
    return nic.modify_qp(qp, to, given, a);
  }
  void connect(Side& peer) {
    QpAttributes a{.access = Access::kRemoteWrite | Access::kRemoteRead | Access::kRemoteAtomic,
                   .qkey = 7,
                   .path = {.destination = peer.gid},
                   .path_mtu = opt.mtu,
                   .dest_qp = peer.nic.query_qp(peer.qp)->qpn,
                   .max_dest_read = opt.max_dest,
                   .max_read = opt.max_read,
                   .min_rnr_timer = 1,
                   .timeout = opt.timeout,
                   .retry_count = opt.retry,
                   .rnr_retry = 7,
                   .rate_limit = opt.rate};
    using enum QpAttrs;
    if (opt.type == QpType::kUd) {
      EXPECT_TRUE(step(QpState::kInit, kPkeyIndex | kPort | kQkey, a));
      EXPECT_TRUE(step(QpState::kRtr, kNone, a));
      EXPECT_TRUE(step(QpState::kRts, kSqPsn, a));
      return;
    }
    EXPECT_TRUE(step(QpState::kInit, kPkeyIndex | kPort | kAccess, a));
    const bool rc = opt.type == QpType::kRc;
    EXPECT_TRUE(
        step(QpState::kRtr,
             kPath | kPathMtu | kDestQp | kRqPsn | (rc ? kMaxDestRead | kMinRnrTimer : kNone), a));
    EXPECT_TRUE(step(QpState::kRts,
                     kSqPsn | (rc ? kTimeout | kRetryCount | kRnrRetry | kMaxRead : kNone) |
                         (opt.rate > Rate{} ? kRateLimit : kNone),
                     a));
  }
  std::vector<Completion> poll() {
    std::array<Completion, 64> got{};
    const std::size_t n = *nic.poll_cq(cq, got);
    return {got.begin(), got.begin() + static_cast<std::ptrdiff_t>(n)};
  }
  int events(EventKind kind) {
    int n = 0;
    while (auto e = nic.next_event()) n += e->kind == kind;
    return n;
  }
  Status rdma(SendOp op, std::uint64_t id, std::uint64_t local, std::uint32_t length, Side& peer,
              std::uint64_t remote, RKey rkey) {
    const Sge sge{base + local, length, keys.lkey};
    return nic.post_send(qp, {.wr_id = id,
                              .op = op,
                              .flags = SendFlags::kSignaled,
                              .sges = {&sge, 1},
                              .remote_address = peer.base + remote,
                              .rkey = rkey});
  }
  QpState state() { return nic.query_qp(qp)->state; }

  Options opt;
  Nic nic;
  wire::Gid gid;
  PdHandle pd;
  CqHandle cq;
  QpHandle qp;
  MrHandle mr;
  MrKeys keys;
  std::uint64_t base{};
  std::vector<std::byte> memory;
};

using Filter = std::function<bool(const wire::Frame&)>;
Time at(std::int64_t us) { return Time{std::chrono::microseconds{us}}; }

std::uint32_t pass(Side& a, Side& b, Time now, const Filter& keep = {}) {
  TxBurst burst{64};
  const std::uint32_t n = a.nic.transmit(burst, now);
  std::vector<wire::Frame> kept;
  for (const wire::Frame& f : burst.frames()) {
    if (!keep || keep(f)) kept.push_back(f);
  }
  b.nic.receive(kept, now);
  return n;
}
void exchange(Side& a, Side& b, Time now = at(1)) {
  while (pass(a, b, now) + pass(b, a, now) > 0) {
  }
}

TEST(Regression, IdleSqdRaisesDrained) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  a.events(EventKind::kSqDrained);
  ASSERT_TRUE(a.step(QpState::kSqd, QpAttrs::kSqdNotify, {.sqd_notify = true}));
  exchange(a, b);
  EXPECT_FALSE(a.nic.query_qp(a.qp)->sq_draining);
  EXPECT_EQ(a.events(EventKind::kSqDrained), 1);
}

TEST(Regression, SqdToSqdDoesNotStartDrainingAgain) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 100, b, 0, b.keys.rkey));
  pass(a, b, at(1));
  ASSERT_TRUE(a.step(QpState::kSqd, QpAttrs::kSqdNotify, {.sqd_notify = true}));
  exchange(a, b);
  EXPECT_EQ(a.events(EventKind::kSqDrained), 1);
  ASSERT_TRUE(a.step(QpState::kSqd, QpAttrs::kTimeout, {.timeout = 12}));
  exchange(a, b);
  EXPECT_FALSE(a.nic.query_qp(a.qp)->sq_draining);
}

TEST(Regression, ResponderDepthGrownInSqd) {
  Side a{1}, b{2, {.max_dest = 0}};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(b.step(QpState::kSqd, QpAttrs::kNone, {}));
  const Status grown = b.step(QpState::kSqd, QpAttrs::kMaxDestRead, {.max_dest_read = 4});
  if (!grown) return;  // refusing is fine too
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, b.keys.rkey));
  exchange(a, b);
  ASSERT_EQ(a.poll().size(), 1U);
}

TEST(Regression, TrainsDoNotSpanDestinations) {
  Side a{1, {.type = QpType::kUd}}, b{2, {.type = QpType::kUd}};
  a.connect(b);
  const AhHandle one = *a.nic.create_ah(a.pd, {.destination = wire::Gid::ipv4(10, 0, 0, 2)});
  const AhHandle two = *a.nic.create_ah(a.pd, {.destination = wire::Gid::ipv4(10, 0, 0, 3)});
  for (const AhHandle ah : {one, two}) {
    const Sge sge{a.base, 100, a.keys.lkey};
    ASSERT_TRUE(a.nic.post_send(a.qp, {.op = SendOp::kSend,
                                       .sges = {&sge, 1},
                                       .ah = ah,
                                       .remote_qpn = Qpn{0x11},
                                       .remote_qkey = 7}));
  }
  TxBurst burst{64};
  ASSERT_EQ(a.nic.transmit(burst, at(1)), 2U);
  EXPECT_NE(burst.frames()[0].flow.destination, burst.frames()[1].flow.destination);
  EXPECT_FALSE(burst.frames()[1].continues_train);
}

// A late answer makes a READ's repetition superfluous; the peer then drops its registration.
TEST(Regression, StaleDuplicateReadIsHarmless) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, b.keys.rkey));
  std::vector<wire::Frame> late;
  pass(a, b, at(1), [&](const wire::Frame& f) {
    late.push_back(f);
    return true;
  });
  exchange(a, b);
  ASSERT_EQ(a.poll().size(), 1U);
  ASSERT_TRUE(b.nic.deregister_mr(b.mr));
  b.nic.receive(late, at(5));
  exchange(a, b, at(6));
  EXPECT_EQ(b.state(), QpState::kRts);
}

TEST(Regression, ReadBeyondTwoGigabytesIsRefused) {
  NoContents none;
  Side a{1, {.mtu = Mtu::k256, .port = &none, .length = 1ULL << 33}};
  Side b{2, {.mtu = Mtu::k256, .port = &none, .length = 1ULL << 33}};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, b.keys.rkey));
  const Psn before = b.nic.query_qp(b.qp)->attributes.rq_psn;
  std::vector<wire::Frame> forged;
  pass(a, b, at(1), [&](const wire::Frame& f) {
    forged.push_back(f);
    return false;
  });
  forged[0].headers.reth.length = 0xffff'ffff;
  b.nic.receive(forged, at(1));
  EXPECT_EQ(b.state(), QpState::kErr) << "expected PSN before " << before.value() << " after "
                                      << b.nic.query_qp(b.qp)->attributes.rq_psn.value();
}

TEST(Regression, UcReportsItsOwnBadReceive) {
  Side a{1, {.type = QpType::kUc}}, b{2, {.type = QpType::kUc}};
  a.connect(b);
  b.connect(a);
  const Sge bad{b.base, 1000, LKey{0x12345}};
  ASSERT_TRUE(b.nic.post_recv(b.qp, {.wr_id = 1, .sges = {&bad, 1}}));
  const Sge good{b.base, 1000, b.keys.lkey};
  ASSERT_TRUE(b.nic.post_recv(b.qp, {.wr_id = 2, .sges = {&good, 1}}));
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(a.rdma(SendOp::kSend, i, 0, 100, b, 0, RKey{}));
    exchange(a, b);
  }
  EXPECT_FALSE(b.poll().empty());
}

TEST(Regression, AnswersDoNotStarveRequests) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 8 << 20, b, 0, b.keys.rkey));
  pass(a, b, at(1));
  ASSERT_TRUE(b.rdma(SendOp::kWrite, 2, 0, 8, a, 9 << 20, a.keys.rkey));
  TxBurst burst{64};
  int sent = 0;
  for (bool found = false; !found;) {
    ASSERT_GT(b.nic.transmit(burst, at(1)), 0U);
    for (const wire::Frame& f : burst.frames()) {
      found = found || wire::operation_of(f.headers.bth.opcode) == wire::Operation::kWriteOnly;
      sent += !found;
    }
  }
  EXPECT_LT(sent, 256);
}

TEST(Regression, AtomicWriteNeedsReadDepth) {
  Side a{1, {.max_read = 0}}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kAtomicWrite, 1, 0, 8, b, 0, b.keys.rkey));
  exchange(a, b);
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kLocalQpOperation);
}

TEST(Regression, NakAfterTimeoutIsHeeded) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 5000, b, 0, b.keys.rkey));
  pass(a, b, at(1), [](const wire::Frame&) { return false; });  // all lost
  const Time due = *a.nic.next_deadline();
  a.nic.expire(due);
  int n = 0;
  pass(a, b, due, [&](const wire::Frame&) { return n++ != 0; });  // the first is lost again
  exchange(a, b, due);
  EXPECT_EQ(a.poll().size(), 1U) << "waits for another timeout";
}

TEST(Regression, PacedRetryDoesNotBurnRetries) {
  Side a{1, {.timeout = 8, .rate = Rate::megabits(1)}}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 1000, b, 0, b.keys.rkey));
  pass(a, b, at(1), [](const wire::Frame&) { return false; });
  std::uint32_t sent = 1;
  while (auto due = a.nic.next_deadline()) {
    a.nic.expire(*due);
    sent += pass(a, b, *due, [](const wire::Frame&) { return false; });
  }
  EXPECT_EQ(sent, 8U);
}

// A QP that waits for the pacer goes back after a timeout and sends nothing yet. A NAK that was on
// its way tells of the same loss: it took the last retry (LifeWorlds, seed 42758 and others).
TEST(Regression, LateNakDoesNotTakeARetryBeforeAnythingIsSentAgain) {
  Side a{1, {.retry = 1}}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 5000, b, 0, b.keys.rkey));
  int n = 0;
  pass(a, b, at(1), [&](const wire::Frame&) { return n++ != 0; });  // the first is lost
  const Time due = *a.nic.next_deadline();
  a.nic.expire(due);
  pass(b, a, due);  // the NAK
  exchange(a, b, due);
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
}

// The same with data beyond an answer that is missing: it started the timer although nothing had
// been asked for again (LifeWorlds, seed 197039).
TEST(Regression, LateDataDoesNotStartTheTimerBeforeAnythingIsSentAgain) {
  Side a{1, {.retry = 1}}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 3000, b, 0, b.keys.rkey));
  pass(a, b, at(1));
  const Time due = *a.nic.next_deadline();
  a.nic.expire(due);
  int n = 0;
  pass(b, a, due, [&](const wire::Frame&) { return n++ == 2; });  // the last of three
  EXPECT_FALSE(a.nic.next_deadline().has_value());
  exchange(a, b, due);
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1U);
  EXPECT_EQ(done[0].status, WcStatus::kSuccess);
}

TEST(Regression, WindowDiesWithItsQp) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  const MwHandle mw = *b.nic.alloc_mw(b.pd, MwType::kType2);
  const RKey rkey{b.nic.rkey_of(mw)->value()};
  ASSERT_TRUE(b.nic.post_send(b.qp, {.op = SendOp::kBindMw,
                                     .flags = SendFlags::kSignaled,
                                     .bind = {.window = mw,
                                              .region = b.mr,
                                              .address = b.base,
                                              .length = 4096,
                                              .access = Access::kRemoteRead,
                                              .new_rkey = rkey}}));
  exchange(a, b);
  ASSERT_EQ(b.poll()[0].status, WcStatus::kSuccess);
  ASSERT_TRUE(b.nic.destroy_qp(b.qp));
  EXPECT_TRUE(b.nic.deregister_mr(b.mr));  // nobody can use the window any more
}

// A long READ is answered while a WRITE the other way must be sent again.
TEST(Regression, AnswersDoNotExhaustRetries) {
  NoContents none;
  Side a{1, {.port = &none, .length = 1ULL << 31}};
  Side b{2, {.timeout = 8, .port = &none, .length = 1ULL << 31}};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(b.rdma(SendOp::kWrite, 2, 0, 8, a, 0, a.keys.rkey));
  pass(b, a, at(1), [](const wire::Frame&) { return false; });  // lost once
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 512 << 20, b, 0, b.keys.rkey));
  for (std::int64_t us = 2; us < 1'000'000; us += 52) {  // 64 frames of 1 KiB at 10 Gb/s
    b.nic.expire(at(us));
    a.nic.expire(at(us));
    pass(a, b, at(us));
    pass(b, a, at(us));
    if (const auto done = b.poll(); !done.empty()) {
      EXPECT_EQ(done[0].status, WcStatus::kSuccess)
          << "retransmitted frames: " << b.nic.counters().retransmitted_frames << " at us " << us;
      return;
    }
  }
  FAIL();
}

TEST(Regression, StaleWindowKeyAfterQpnReuse) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  const MwHandle mw = *b.nic.alloc_mw(b.pd, MwType::kType2);
  const RKey rkey{b.nic.rkey_of(mw)->value()};
  ASSERT_TRUE(b.nic.post_send(b.qp, {.op = SendOp::kBindMw,
                                     .bind = {.window = mw,
                                              .region = b.mr,
                                              .address = b.base,
                                              .length = 4096,
                                              .access = Access::kRemoteRead,
                                              .new_rkey = rkey}}));
  exchange(a, b);
  const Qpn old = b.nic.query_qp(b.qp)->qpn;
  ASSERT_TRUE(b.nic.destroy_qp(b.qp));
  ASSERT_TRUE(a.nic.destroy_qp(a.qp));
  a.qp = a.make();
  for (b.qp = b.make(); b.nic.query_qp(b.qp)->qpn != old; b.qp = b.make()) {
    ASSERT_TRUE(b.nic.destroy_qp(b.qp));
  }
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kRead, 1, 0, 100, b, 0, rkey));
  exchange(a, b);
  EXPECT_NE(a.poll()[0].status, WcStatus::kSuccess);
}

TEST(Regression, NakSurvivesTheApplicationsOwnModifyToError) {
  Side a{1}, b{2};
  a.connect(b);
  b.connect(a);
  ASSERT_TRUE(a.rdma(SendOp::kWrite, 1, 0, 8, b, 0, RKey{5}));
  pass(a, b, at(1));
  ASSERT_TRUE(b.step(QpState::kErr, QpAttrs::kNone, {}));
  exchange(a, b);
  const auto done = a.poll();
  ASSERT_EQ(done.size(), 1U);
}

TEST(Regression, LongReadsArePipelined) {
  NoContents none;
  Side a{1, {.mtu = Mtu::k1024, .port = &none, .length = 1ULL << 31}};
  Side b{2, {.mtu = Mtu::k1024, .port = &none, .length = 1ULL << 31}};
  a.connect(b);
  b.connect(a);
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_TRUE(a.rdma(SendOp::kRead, i, 0, 16 << 20, b, 0, b.keys.rkey));
  EXPECT_EQ(pass(a, b, at(1)), 4U);
}

}  // namespace
}  // namespace nerve::nic
