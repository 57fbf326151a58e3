// Goal: a datagram reaches its QP with its header in front, or is dropped; no sender can stop a QP
// with one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::Probe;
using test::said;
using enum wire::Operation;

const wire::Gid kGroup = wire::Gid::ipv4(224, 0, 0, 77);

wire::Frame to_group(Probe& probe, std::uint32_t length) {
  wire::Frame frame = probe.frame(kSendOnly, 0, length);
  frame.headers.bth.dest_qp = Qpn{0xff'ffff};
  frame.flow.destination = kGroup;
  return frame;
}

// A second QP, ready to send.
QpHandle make_second(Probe& probe) {
  const QpHandle second = probe.end.make_qp();
  const QpHandle first = std::exchange(probe.end.qp, second);
  probe.end.bring_to(QpState::kRts);
  probe.end.qp = first;
  return second;
}

struct DatagramsTest : ::testing::Test {
  Probe probe{QpType::kUd};
  void SetUp() override { probe.end.bring_to(QpState::kRts); }
  void expect_nothing(const wire::Frame& frame, std::uint64_t Counters::*reason) {
    const std::uint64_t before = probe.end.nic.counters().*reason;
    const auto memory = probe.end.memory;
    EXPECT_TRUE(probe.hear(frame).empty());
    EXPECT_EQ(probe.end.nic.counters().*reason, before + 1);
    EXPECT_EQ(probe.end.memory, memory);
    EXPECT_TRUE(probe.end.completions().empty());
    EXPECT_EQ(probe.end.state(), QpState::kRts);
  }
};

TEST_F(DatagramsTest, BringTheirIpv4HeaderInTheSecondHalfOfTheGrhArea) {
  probe.end.fill(0, 200, 5);
  ASSERT_TRUE(probe.end.post_receive(3, 0, 200));
  wire::Frame frame = probe.frame(kSendOnlyImm, 0, 30);
  frame.headers.immediate = 0xabcd;
  frame.flow.traffic_class = 0x68;
  frame.flow.hop_limit = 5;
  probe.hear(frame);
  const auto got = probe.end.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 3U);
  EXPECT_EQ(got[0].bytes, 70U);
  EXPECT_EQ(got[0].source_qpn, Probe::kPeerQpn);
  EXPECT_EQ(got[0].flags, WcFlags::kGrh | WcFlags::kImmediate);
  EXPECT_EQ(got[0].service_level, 0xa);  // how UCX detects IPv4
  EXPECT_EQ(got[0].immediate, 0xabcdU);

  EXPECT_EQ(probe.end.bytes(0, 20), std::vector<std::byte>(20)) << "twenty bytes of zero";
  const auto ip = probe.end.bytes(20, 20);
  EXPECT_EQ(ip[0], std::byte{0x45});
  EXPECT_EQ(ip[1], std::byte{0x68});
  // IP, UDP, BTH, DETH, immediate, payload, pad, ICRC.
  EXPECT_EQ(ip[3], std::byte{20 + 8 + 12 + 8 + 4 + 30 + 2 + 4});
  EXPECT_EQ(ip[8], std::byte{5});
  EXPECT_EQ(ip[9], std::byte{17});
  EXPECT_EQ(std::vector(ip.begin() + 12, ip.end()),
            (std::vector{std::byte{10}, std::byte{0}, std::byte{0}, std::byte{9}, std::byte{10},
                         std::byte{0}, std::byte{0}, std::byte{1}}));
  EXPECT_EQ(probe.end.bytes(40, 30),
            std::vector(probe.payload.begin(), probe.payload.begin() + 30));
}

TEST(DatagramsIpv6, BringTheirIpv6HeaderInTheGrhArea) {
  Probe probe{EndSetup{.type = QpType::kUd, .ipv6 = true}};
  probe.end.bring_to(QpState::kRts);
  ASSERT_TRUE(probe.end.post_receive(3, 0, 200));
  wire::Frame frame = probe.frame(kSendOnly, 0, 32);
  frame.flow.traffic_class = 0x68;
  frame.flow.flow_label = 0x12345;
  frame.flow.hop_limit = 9;
  probe.hear(frame);
  const auto got = probe.end.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].service_level, 0x9);
  const auto ip = probe.end.bytes(0, 40);
  const std::array start{std::byte{0x66}, std::byte{0x81}, std::byte{0x23}, std::byte{0x45}};
  EXPECT_TRUE(std::equal(start.begin(), start.end(), ip.begin()));
  EXPECT_EQ(ip[5], std::byte{8 + 12 + 8 + 32 + 4});
  EXPECT_EQ(ip[6], std::byte{17});
  EXPECT_EQ(ip[7], std::byte{9});
  EXPECT_TRUE(std::equal(ip.begin() + 8, ip.begin() + 24, probe.peer.bytes.begin()));
  EXPECT_TRUE(std::equal(ip.begin() + 24, ip.end(), probe.end.gid.bytes.begin()));
}

TEST_F(DatagramsTest, OfAnotherQkeyAreDropped) {
  ASSERT_TRUE(probe.end.post_receive(1, 0, 200));
  wire::Frame frame = probe.frame(kSendOnly, 0, 8);
  frame.headers.deth.qkey ^= 1;
  expect_nothing(frame, &Counters::dropped_bad_qkey);
}

TEST_F(DatagramsTest, WithoutAReceiveAreDropped) {
  expect_nothing(probe.frame(kSendOnly, 0, 8), &Counters::dropped_no_receive);
}

TEST_F(DatagramsTest, TooLongForTheirReceiveAreDroppedAndItServesTheNext) {
  ASSERT_TRUE(probe.end.post_receive(1, 0, 47));
  expect_nothing(probe.frame(kSendOnly, 0, 8), &Counters::dropped_malformed);
  probe.hear(probe.frame(kSendOnly, 1, 7));
  const auto got = probe.end.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 1U);
  EXPECT_EQ(got[0].bytes, 47U);
}

TEST_F(DatagramsTest, LongerThanTheMtuAreDropped) {
  ASSERT_TRUE(probe.end.post_receive(1, 0, 8192));
  expect_nothing(probe.frame(kSendOnly, 0, 4097), &Counters::dropped_malformed);
}

TEST_F(DatagramsTest, ToAnotherAddressAreDropped) {
  ASSERT_TRUE(probe.end.post_receive(1, 0, 200));
  wire::Frame frame = probe.frame(kSendOnly, 0, 8);
  frame.flow.destination = test::gid_of(7, false);
  expect_nothing(frame, &Counters::dropped_wrong_address);
  // A group is reached through the multicast QPN and attachment, not through a QP's own number.
  frame.flow.destination = kGroup;
  expect_nothing(frame, &Counters::dropped_wrong_address);
  expect_nothing(to_group(probe, 8), &Counters::dropped_wrong_address);
}

TEST_F(DatagramsTest, FromAnybodyAreWelcome) {
  ASSERT_TRUE(probe.end.post_receive(1, 0, 200));
  wire::Frame frame = probe.frame(kSendOnly, 0xabcdef, 8);
  frame.flow.source = test::gid_of(200, false);
  probe.hear(frame);
  EXPECT_EQ(probe.end.completions().size(), 1U);
}

struct Multicast : DatagramsTest {};

TEST_F(Multicast, ReachesThoseWhoAreAttached) {
  ASSERT_TRUE(probe.end.post_receive(1, 0, 200));
  ASSERT_TRUE(probe.end.post_receive(2, 0, 200));
  ASSERT_TRUE(probe.end.nic.attach_mcast(probe.end.qp, kGroup));
  ASSERT_TRUE(probe.end.nic.attach_mcast(probe.end.qp, kGroup)) << "twice is once";
  probe.hear(to_group(probe, 8));
  EXPECT_EQ(probe.end.completions().size(), 1U);
  ASSERT_TRUE(probe.end.nic.detach_mcast(probe.end.qp, kGroup));
  expect_nothing(to_group(probe, 8), &Counters::dropped_wrong_address);
}

TEST_F(Multicast, ReachesEveryMemberButTheSender) {
  const QpHandle second = make_second(probe);
  for (const QpHandle qp : {probe.end.qp, second}) {
    const Sge list = probe.end.sge(0, 200);
    ASSERT_TRUE(probe.end.nic.post_recv(qp, {.sges = {&list, 1}}));
    ASSERT_TRUE(probe.end.nic.attach_mcast(qp, kGroup));
  }
  wire::Frame own = to_group(probe, 8);
  own.flow.source = probe.end.gid;
  own.headers.deth.source_qp = probe.end.qpn();
  probe.hear(own);
  const auto got = probe.end.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].qpn, probe.end.nic.query_qp(second)->qpn);
  const Sge list = probe.end.sge(0, 200);
  ASSERT_TRUE(probe.end.nic.post_recv(second, {.sges = {&list, 1}}));
  probe.hear(to_group(probe, 8));
  EXPECT_EQ(probe.end.completions().size(), 2U);
  // A destroyed QP leaves its groups.
  ASSERT_TRUE(probe.end.nic.destroy_qp(second));
  ASSERT_TRUE(probe.end.post_receive(9, 0, 200));
  probe.hear(to_group(probe, 8));
  EXPECT_EQ(probe.end.completions().size(), 1U);
}

TEST_F(Multicast, RefusesWhatIsNoGroupOrNoDatagramQp) {
  Nic& nic = probe.end.nic;
  EXPECT_EQ(said(nic.attach_mcast(probe.end.qp, probe.peer)),
            "invalid: attach: not a multicast GID");
  EXPECT_EQ(said(nic.detach_mcast(probe.end.qp, kGroup)), "invalid: detach: not attached");
  Probe connected;
  EXPECT_EQ(said(connected.end.nic.attach_mcast(connected.end.qp, kGroup)),
            "invalid: attach: only UD QPs can");
}

TEST(MulticastLimits, AreKept) {
  NicConfig config;
  config.limits.max_mcast_groups = 1;
  config.limits.max_mcast_qps = 1;
  Probe probe{EndSetup{.config = config, .type = QpType::kUd}};
  Nic& nic = probe.end.nic;
  const QpHandle second = make_second(probe);
  ASSERT_TRUE(nic.attach_mcast(probe.end.qp, kGroup));
  EXPECT_EQ(said(nic.attach_mcast(second, kGroup)), "limit: attach: too many QPs in the group");
  EXPECT_EQ(said(nic.attach_mcast(second, wire::Gid::ipv4(224, 0, 0, 78))),
            "limit: attach: too many groups");
  ASSERT_TRUE(nic.detach_mcast(probe.end.qp, kGroup));
  EXPECT_EQ(said(nic.attach_mcast(second, kGroup)), "done") << "an empty group is no group";
}

}  // namespace
}  // namespace nerve::nic
