// Goal: an XRC request uses the SRQ it names, with that SRQ's protection domain, and none outside
// the target's XRC domain. The GSI QP accepts every partition of the port.
#include <gtest/gtest.h>

#include <vector>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::EndSetup;
using test::Probe;
using enum wire::Operation;

struct Xrc : ::testing::Test {
  Probe probe;
  test::End& end = probe.end;
  XrcdHandle xrcd = *end.nic.alloc_xrcd();
  SrqHandle srq = make_srq(xrcd);

  void SetUp() override {
    ASSERT_TRUE(end.nic.destroy_qp(end.qp));
    end.setup.type = QpType::kXrcRecv;
    end.qp = *end.nic.create_qp({.type = QpType::kXrcRecv, .xrcd = xrcd});
    end.bring_to(QpState::kRts);
  }
  SrqHandle make_srq(XrcdHandle domain) {
    return *end.nic.create_srq(
        {.pd = end.pd, .type = SrqType::kXrc, .max_wr = 4, .xrcd = domain, .cq = end.cq});
  }
  wire::Frame to(SrqHandle named, wire::Frame frame) {
    frame.headers.xrc_srq = end.nic.query_srq(named)->number;
    return frame;
  }
  void post_receive(SrqHandle to_srq, std::uint64_t wr_id, std::size_t offset) {
    const Sge list = end.sge(offset, 100);
    ASSERT_TRUE(end.nic.post_srq_recv(to_srq, {.wr_id = wr_id, .sges = {&list, 1}}));
  }
};

TEST_F(Xrc, SendsReachTheSrqTheyName) {
  const SrqHandle second = make_srq(xrcd);
  post_receive(srq, 1, 0);
  post_receive(second, 2, 100);
  probe.hear(to(second, probe.frame(kSendOnly, 0, 8)));
  probe.hear(to(srq, probe.frame(kSendOnly, 1, 8)));
  const auto got = end.completions();
  ASSERT_EQ(got.size(), 2U);
  EXPECT_EQ(got[0].wr_id, 2U);
  EXPECT_EQ(got[0].srq_number, end.nic.query_srq(second)->number);
  EXPECT_EQ(got[1].wr_id, 1U);
  EXPECT_EQ(got[1].srq_number, end.nic.query_srq(srq)->number);
}

TEST_F(Xrc, WritesAndReadsUseTheDomainOfTheSrq) {
  EXPECT_EQ(probe.hear(to(srq, probe.frame_at(kWriteOnly, 0, 512, 8, 8))).size(), 1U);
  EXPECT_EQ(end.bytes(512, 8), std::vector(probe.payload.begin(), probe.payload.begin() + 8));
  const auto answers = probe.hear(to(srq, probe.frame_at(kReadRequest, 1, 512, 8)));
  ASSERT_EQ(answers.size(), 1U);
  EXPECT_EQ(answers[0].headers.bth.opcode, wire::opcode(wire::Transport::kXrc, kReadResponseOnly));

  const PdHandle other = *end.nic.alloc_pd();
  const SrqHandle foreign =
      *end.nic.create_srq({.pd = other, .type = SrqType::kXrc, .xrcd = xrcd, .cq = end.cq});
  const auto refused = probe.hear(to(foreign, probe.frame_at(kWriteOnly, 2, 512, 8, 8)));
  ASSERT_EQ(refused.size(), 1U);
  EXPECT_EQ(refused[0].headers.aeth.syndrome, test::kNakAccess);
}

TEST_F(Xrc, SrqsOutsideTheDomainAreRefused) {
  const SrqHandle outside = make_srq(*end.nic.alloc_xrcd());
  const SrqHandle basic = *end.nic.create_srq({.pd = end.pd});
  wire::Frame none = probe.frame(kSendOnly, 0, 8);
  wire::Frame beyond = none;
  beyond.headers.xrc_srq = 0xff'ffff;
  for (const wire::Frame& frame : {to(outside, none), to(basic, none), none, beyond}) {
    end.bring_to(QpState::kRts);
    const auto answers = probe.hear(frame);
    ASSERT_EQ(answers.size(), 1U);
    EXPECT_EQ(answers[0].headers.aeth.syndrome, test::kNakInvalid);
    EXPECT_EQ(end.state(), QpState::kErr);
  }
}

TEST_F(Xrc, AnSrqWithAMessageInProgressCannotGo) {
  const Sge list = end.sge(0, 2000);
  const SrqHandle large = make_srq(xrcd);
  ASSERT_TRUE(end.nic.post_srq_recv(large, {.wr_id = 5, .sges = {&list, 1}}));
  probe.hear(to(large, probe.frame(kSendFirst, 0, 1024)));
  EXPECT_EQ(test::said(end.nic.destroy_srq(large)), "busy: destroy srq: messages are arriving");
  end.step(QpState::kErr);
  const auto got = end.completions();
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].wr_id, 5U);
  EXPECT_EQ(got[0].status, WcStatus::kFlushed);
  EXPECT_EQ(end.events(), std::vector{EventKind::kQpLastWqeReached});
  EXPECT_EQ(test::said(end.nic.destroy_srq(large)), "done");
}

TEST_F(Xrc, ATargetHearsNoAnswers) {
  const auto before = end.nic.counters().dropped_wrong_transport;
  EXPECT_TRUE(probe.hear(probe.frame(kAcknowledge, 0)).empty());
  EXPECT_EQ(end.nic.counters().dropped_wrong_transport, before + 1);
}

TEST(Gsi, HearsEveryPartitionOfThePortAndTellsWhich) {
  NicConfig config;
  config.pkeys = {0xffff, 0x8005};
  Probe probe{EndSetup{.config = config, .type = QpType::kGsi}};
  probe.end.bring_to(QpState::kRts);
  ASSERT_EQ(probe.end.qpn(), Qpn{1});
  for (const std::uint16_t index : {std::uint16_t{0}, std::uint16_t{1}}) {
    ASSERT_TRUE(probe.end.post_receive(index, 0, 400));
    wire::Frame mad = probe.frame(kSendOnly, 0, 256);
    mad.headers.bth.pkey = PKey{config.pkeys[index]};
    probe.hear(mad);
    const auto got = probe.end.completions();
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].pkey_index, index);
  }
  wire::Frame other = probe.frame(kSendOnly, 0, 256);
  other.headers.bth.pkey = PKey{0x8006};
  probe.hear(other);
  EXPECT_EQ(probe.end.nic.counters().dropped_bad_pkey, 1U);
}

// An application may not choose a privileged Q_Key: the QP's own is sent instead.
TEST(Gsi, SendsByItsOwnPrivilegedQkeyAndTheChosenPartition) {
  NicConfig config;
  config.pkeys = {0xffff, 0x8005};
  Probe probe{EndSetup{.config = config, .type = QpType::kGsi}};
  probe.end.attributes.qkey = 0x8001'0000;
  probe.end.bring_to(QpState::kRts);
  const AhHandle ah = *probe.end.nic.create_ah(probe.end.pd, {.destination = probe.peer});
  ASSERT_TRUE(probe.end.post(
      {.ah = ah, .remote_qpn = Qpn{1}, .remote_qkey = 0xffff'ffff, .pkey_index = 1}, 0, 256));
  const auto sent = probe.listen();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_EQ(sent[0].headers.deth.qkey, 0x8001'0000U);
  EXPECT_EQ(sent[0].headers.deth.source_qp, Qpn{1});
  EXPECT_EQ(sent[0].headers.bth.pkey, PKey{0x8005});
  EXPECT_EQ(sent[0].flow.source_port, 55410);
}

}  // namespace
}  // namespace nerve::nic
