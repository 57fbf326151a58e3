// Tests of events, shared queues, datagrams and limits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "tests/dst/pair.h"
#include "tests/qp_ladder.h"

namespace nerve::dst {
namespace {

using nic::EventKind;
using nic::QpState;
using nic::WcStatus;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// The SRQ raises its limit event once, and not again until it is armed.
TEST(Srq, LimitEventComesOnce) {
  Pair pair{PairSetup{.srq = true}};
  pair.connect();
  for (std::uint64_t i = 0; i < 6; ++i) ASSERT_TRUE(pair.receive(1, i, 64));
  ASSERT_TRUE(pair.nic(1).set_srq_limit(pair.end(1).srq, 4));
  for (std::uint64_t i = 0; i < 2; ++i) ASSERT_TRUE(pair.send(0, i, 8));
  pair.run_for(milliseconds{1});
  EXPECT_FALSE(pair.saw_event(1, EventKind::kSrqLimitReached)) << "four are left: not below";
  for (std::uint64_t i = 2; i < 5; ++i) ASSERT_TRUE(pair.send(0, i, 8));
  pair.run_for(milliseconds{1});
  EXPECT_EQ(std::ranges::count_if(
                pair.end(1).events,
                [](const nic::Event& e) { return e.kind == EventKind::kSrqLimitReached; }),
            1);
}

// A QP with an SRQ that enters ERR reports that it will take no more receives.
TEST(Srq, LastWqeReached) {
  Pair pair{PairSetup{.srq = true}};
  pair.connect();
  ASSERT_TRUE(pair.nic(1).modify_qp(pair.end(1).qp, QpState::kErr, nic::QpAttrs::kNone, {}));
  pair.run_for(milliseconds{1});
  EXPECT_TRUE(pair.saw_event(1, EventKind::kQpLastWqeReached));
}

// The first packet in RTR raises an event.
TEST(Established, IsToldInRtr) {
  Pair pair{PairSetup{}};
  pair.connect(0, pair.attributes(0));
  ASSERT_TRUE(test::bring_qp_to(pair.nic(1), pair.end(1).qp, QpState::kRtr, pair.attributes(1)));
  ASSERT_TRUE(pair.write(0, 1, 8));
  pair.run_for(milliseconds{1});
  EXPECT_TRUE(pair.saw_event(1, EventKind::kCommEstablished));
  EXPECT_EQ(pair.end(0).completions.size(), 1U);
}

// A completion queue that overflows raises a CQ error, and its QP becomes fatal.
TEST(CqOverflow, IsFatalForTheQp) {
  Pair pair{PairSetup{}};
  pair.connect();
  nic::Nic& nic = pair.nic(0);
  const nic::CqHandle small = *nic.create_cq({.depth = 2});
  const nic::QpHandle qp = *nic.create_qp({.type = nic::QpType::kUd,
                                           .pd = pair.end(0).host->pd(),
                                           .send_cq = small,
                                           .recv_cq = small,
                                           .caps = {.max_send_wr = 16}});
  ASSERT_TRUE(test::bring_qp_to(nic, qp, QpState::kRts, {}));
  nic::AddressVector address;
  address.destination = pair.end(1).host->gid();
  const nic::AhHandle ah = *nic.create_ah(pair.end(0).host->pd(), address);
  for (std::uint64_t i = 0; i < 4; ++i) {
    nic::SendWr wr{.wr_id = i, .op = nic::SendOp::kSend, .flags = nic::SendFlags::kSignaled};
    wr.ah = ah;
    wr.remote_qpn = Qpn{5};
    ASSERT_TRUE(nic.post_send(qp, wr));
  }
  pair.run_for(milliseconds{1});
  EXPECT_TRUE(pair.saw_event(0, EventKind::kCqError));
  EXPECT_TRUE(pair.saw_event(0, EventKind::kQpFatal));
  EXPECT_EQ(nic.query_qp(qp)->state, QpState::kErr);
}

// A packet with the wrong partition key is dropped without an answer.
TEST(Pkey, MismatchIsDropped) {
  PairSetup setup;
  setup.config[0].pkeys = {0x8001};
  setup.config[1].pkeys = {0x8002};
  Pair pair{setup};
  pair.connect();
  ASSERT_TRUE(pair.write(0, 1, 8));
  pair.run_for(microseconds{100});
  EXPECT_GE(pair.nic(1).counters().dropped_bad_pkey, 1U);
  EXPECT_TRUE(pair.frames_from(1).empty());
}

struct DatagramCase {
  bool ipv6;
};
class Datagram : public ::testing::TestWithParam<DatagramCase> {
 protected:
  // Sends eight bytes with the given Q_Key and returns the completions.
  static std::vector<nic::Completion> send(Pair& pair, std::uint32_t qkey) {
    pair.connect();
    EXPECT_TRUE(pair.receive(1, 1, 128));
    nic::AddressVector address;
    address.destination = pair.end(1).host->gid();
    address.traffic_class = 0x20;
    nic::SendWr wr{.wr_id = 1, .op = nic::SendOp::kSend};
    wr.ah = *pair.nic(0).create_ah(pair.end(0).host->pd(), address);
    wr.remote_qpn = pair.end(1).qpn;
    wr.remote_qkey = qkey;
    EXPECT_TRUE(pair.post(0, wr, 8, MemoryModel::kStatic));
    pair.run_for(milliseconds{1});
    return pair.end(1).completions;
  }
};

// The first forty bytes of the buffer hold the network header: an IPv6 header, or twenty zero bytes
// and an IPv4 header.
TEST_P(Datagram, LeavesRoomForTheGrh) {
  Pair pair{PairSetup{.type = nic::QpType::kUd, .ipv6 = GetParam().ipv6}};
  const auto got = send(pair, 0x1111);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].bytes, 48U);
  EXPECT_TRUE(contains(got[0].flags, nic::WcFlags::kGrh));
  EXPECT_EQ(got[0].source_qpn, pair.end(0).qpn);
  MemoryModel& memory = pair.memory(1);
  const Bytes buffer = memory.actual(memory.zone_start(MemoryModel::kLocal), 48);
  EXPECT_TRUE(std::ranges::equal(buffer.subspan(40), pair.memory(0).actual(0, 8)));
  const wire::Gid source = pair.end(0).host->gid();
  const wire::Gid destination = pair.end(1).host->gid();
  if (GetParam().ipv6) {
    EXPECT_EQ(buffer[0] >> 4, std::byte{6});
    EXPECT_TRUE(std::ranges::equal(buffer.subspan(8, 16), source.bytes));
    EXPECT_TRUE(std::ranges::equal(buffer.subspan(24, 16), destination.bytes));
  } else {
    EXPECT_EQ(buffer[20], std::byte{0x45});
    EXPECT_TRUE(std::ranges::equal(buffer.subspan(32, 4), Bytes{source.bytes}.subspan(12)));
    EXPECT_TRUE(std::ranges::equal(buffer.subspan(36, 4), Bytes{destination.bytes}.subspan(12)));
  }
}

TEST_P(Datagram, WithTheWrongQkeyIsDropped) {
  Pair pair{PairSetup{.type = nic::QpType::kUd, .ipv6 = GetParam().ipv6}};
  EXPECT_TRUE(send(pair, 0x1112).empty());
  EXPECT_EQ(pair.nic(1).counters().dropped_bad_qkey, 1U);
}
INSTANTIATE_TEST_SUITE_P(BothIps, Datagram,
                         ::testing::Values(DatagramCase{false}, DatagramCase{true}));

// Congestion marks slow a DCQCN sender down; when they stop, it returns to line rate.
TEST(Dcqcn, ReactsToMarksAndRecovers) {
  PairSetup setup;
  for (nic::NicConfig& config : setup.config) {
    config.flow_control.algorithm = nic::CcAlgorithm::kDcqcn;
    config.line_rate = Rate::gigabits(10);
  }
  Pair pair{setup};
  pair.connect();
  const auto time_to_write = [&] {
    const Time start = pair.now();
    const std::size_t before = pair.end(0).completions.size();
    EXPECT_TRUE(pair.write(0, 1, 100'000));
    while (pair.end(0).completions.size() == before && pair.now() - start < Duration{seconds{1}}) {
      pair.run_for(microseconds{5});
    }
    return pair.now() - start;
  };
  // At line rate only the link paces the frames, and this network has no rate limit.
  const Duration fast = time_to_write();
  const Duration at_line_rate = Rate::gigabits(10).time_to_send(100'000);
  EXPECT_LT(fast, at_line_rate);
  pair.network().set_faults({.marking = 1000});
  for (int i = 0; i < 10; ++i) time_to_write();
  EXPECT_GT(pair.nic(1).counters().cnps_sent, 2U);
  EXPECT_GT(time_to_write(), 2 * at_line_rate);
  pair.network().set_faults({});
  pair.run_for(seconds{3});
  for (int i = 0; i < 400; ++i) time_to_write();
  pair.run_for(seconds{3});
  EXPECT_EQ(time_to_write(), fast);
}

// Memory without contents transfers only lengths, so the largest message costs no memory.
TEST(LargeMessages, GoThroughMemoryWithoutContents) {
  PairSetup setup;
  for (nic::NicConfig& config : setup.config) config.line_rate = Rate::gigabits(800);
  Pair pair{setup};
  nic::QpAttributes a = pair.attributes(0);
  nic::QpAttributes b = pair.attributes(1);
  a.path_mtu = b.path_mtu = nic::Mtu::k4096;
  pair.connect(0, a);
  pair.connect(1, b);
  nic::MrKeys keys[2];
  constexpr std::uint64_t kRegion = std::uint64_t{1} << 32U;
  for (std::size_t side = 0; side < 2; ++side) {
    const auto mr =
        pair.nic(side).register_mr({.pd = pair.end(side).host->pd(),
                                    .address = 0,
                                    .length = kRegion,
                                    .iova = 0,
                                    .access = nic::Access::kLocalWrite | nic::Access::kRemoteWrite,
                                    .port = &no_contents()});
    ASSERT_TRUE(mr);
    keys[side] = *pair.nic(side).keys_of(*mr);
  }
  for (const std::uint32_t length : {1U << 30U, 1U << 31U}) {
    const nic::Sge sge{.address = 0, .length = length, .lkey = keys[0].lkey};
    nic::SendWr wr{.wr_id = length,
                   .op = nic::SendOp::kWrite,
                   .flags = nic::SendFlags::kSignaled,
                   .sges = {&sge, 1}};
    wr.rkey = keys[1].rkey;
    ASSERT_TRUE(pair.nic(0).post_send(pair.end(0).qp, wr));
    pair.forget_frames();
    pair.run_for(milliseconds{100});
    ASSERT_FALSE(pair.end(0).completions.empty());
    EXPECT_EQ(pair.end(0).completions.back().status, WcStatus::kSuccess);
    EXPECT_EQ(pair.end(0).completions.back().wr_id, length);
  }
  EXPECT_EQ(pair.nic(1).counters().bytes_received, 3ULL << 30U);
}

// Idle QPs cost nothing: with ten thousand of them nothing is due and nothing is sent.
TEST(ManyQps, IdleOnesAreQuiet) {
  Pair pair{PairSetup{}};
  pair.connect();
  for (int i = 0; i < 10'000; ++i) {
    const auto qp = pair.nic(0).create_qp({.type = nic::QpType::kRc,
                                           .pd = pair.end(0).host->pd(),
                                           .send_cq = pair.end(0).cq,
                                           .recv_cq = pair.end(0).cq});
    ASSERT_TRUE(qp);
  }
  EXPECT_FALSE(pair.nic(0).next_deadline());
  ASSERT_TRUE(pair.write(0, 1, 8));
  pair.run_for(milliseconds{1});
  EXPECT_EQ(pair.end(0).completions.size(), 1U);
  EXPECT_EQ(pair.frames_from(0).size(), 1U);
}

}  // namespace
}  // namespace nerve::dst
