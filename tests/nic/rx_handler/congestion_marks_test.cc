// Goal: a marked packet is answered with a CNP to its sender, at most one per flow and interval;
// frames are ECN-capable only where congestion control uses marks.
#include <gtest/gtest.h>

#include <vector>

#include "nic/nic.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using std::chrono::microseconds;
using test::EndSetup;
using test::Probe;
using test::Seen;
using enum wire::Operation;

std::uint32_t cnps(const std::vector<Seen>& seen) {
  std::uint32_t count = 0;
  for (const Seen& s : seen) count += s.headers.bth.opcode == wire::kCnpOpcode ? 1 : 0;
  return count;
}

wire::Frame marked(Probe& probe, std::uint32_t psn) {
  wire::Frame frame = probe.frame_at(kWriteOnly, psn, 0, 8, 8);
  frame.flow.set_ecn(wire::Ecn::kCongestion);
  return frame;
}

TEST(CongestionMarks, AreAnsweredAtOnceByOneCnp) {
  Probe probe;
  probe.end.bring_to(QpState::kRts);
  const auto answers = probe.hear(marked(probe, 0));
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].headers.bth.opcode, wire::kCnpOpcode) << "before the ACK";
  EXPECT_EQ(answers[0].headers.bth.dest_qp, Probe::kPeerQpn);
  EXPECT_TRUE(answers[0].headers.bth.becn);
  EXPECT_EQ(answers[0].flow.destination, probe.peer);
  EXPECT_TRUE(answers[1].headers.bth.becn) << "and the ACK echoes the mark";
  EXPECT_EQ(probe.end.nic.counters().cnps_sent, 1U);
  EXPECT_EQ(probe.end.nic.counters().ecn_marked_received, 1U);
}

TEST(CongestionMarks, AreAnsweredOnceInAnInterval) {
  Probe probe;
  probe.end.bring_to(QpState::kRts);
  std::uint32_t psn = 0;
  EXPECT_EQ(cnps(probe.hear(marked(probe, psn++))), 1U);
  for (int i = 0; i < 49; ++i) {
    probe.now += microseconds{1};
    EXPECT_EQ(cnps(probe.hear(marked(probe, psn++))), 0U);
  }
  probe.now += microseconds{1};
  EXPECT_EQ(cnps(probe.hear(marked(probe, psn++))), 1U);
}

TEST(CongestionMarks, OfTwoConnectionsAreAnsweredEach) {
  Probe probe;
  probe.end.bring_to(QpState::kRts);
  EXPECT_EQ(cnps(probe.hear(marked(probe, 0))), 1U);
  probe.end.qp = probe.end.make_qp();
  probe.end.bring_to(QpState::kRts);
  EXPECT_EQ(cnps(probe.hear(marked(probe, 0))), 1U) << "the interval is each flow's own";
}

TEST(CongestionMarks, AreIgnoredWhenTheIntervalIsZero) {
  NicConfig config;
  config.flow_control.cnp_interval = {};
  Probe probe{EndSetup{.config = config}};
  probe.end.bring_to(QpState::kRts);
  EXPECT_EQ(cnps(probe.hear(marked(probe, 0))), 0U);
}

TEST(CongestionMarks, OnlyCongestionExperiencedIsAMark) {
  Probe probe;
  probe.end.bring_to(QpState::kRts);
  std::uint32_t psn = 0;
  for (const auto ecn : {wire::Ecn::kNotCapable, wire::Ecn::kCapable0, wire::Ecn::kCapable1}) {
    wire::Frame frame = marked(probe, psn++);
    frame.flow.set_ecn(ecn);
    EXPECT_EQ(cnps(probe.hear(frame)), 0U);
  }
}

// A CNP caused by a forged source would slow down a peer that did nothing.
TEST(CongestionMarks, OfAFrameThatIsDroppedAreNotAnswered) {
  Probe probe;
  probe.end.bring_to(QpState::kRts);
  wire::Frame frame = marked(probe, 0);
  frame.flow.source = test::gid_of(100, false);
  EXPECT_EQ(cnps(probe.hear(frame)), 0U);
  frame = marked(probe, 0);
  frame.headers.bth.pkey = PKey{0x8001};
  EXPECT_EQ(cnps(probe.hear(frame)), 0U);
}

TEST(Cnp, IsCountedAndNeverAnswered) {
  Probe probe;
  probe.end.bring_to(QpState::kRts);
  wire::Frame cnp = probe.frame(kSendOnly, 0);
  cnp.headers.bth.opcode = wire::kCnpOpcode;
  cnp.headers.bth.becn = true;
  cnp.flow.set_ecn(wire::Ecn::kCongestion);
  EXPECT_TRUE(probe.hear(cnp).empty());
  EXPECT_EQ(probe.end.nic.counters().cnps_received, 1U);
  EXPECT_EQ(probe.end.state(), QpState::kRts);
}

TEST(Marking, IsAllowedOnlyWhereItIsHeeded) {
  for (const CcAlgorithm algorithm : {CcAlgorithm::kNone, CcAlgorithm::kDcqcn}) {
    NicConfig config;
    config.flow_control.algorithm = algorithm;
    Probe probe{EndSetup{.config = config}};
    probe.end.bring_to(QpState::kRts);
    ASSERT_TRUE(probe.end.post({}, 0, 8));
    const auto sent = probe.listen();
    ASSERT_EQ(sent.size(), 1U);
    EXPECT_EQ(sent[0].flow.ecn(),
              algorithm == CcAlgorithm::kNone ? wire::Ecn::kNotCapable : wire::Ecn::kCapable0);
  }
}

}  // namespace
}  // namespace nerve::nic
