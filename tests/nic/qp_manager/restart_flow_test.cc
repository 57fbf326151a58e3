// Goal: a connected QP can begin a new flow, with the congestion state of a new QP, and only while
// nothing is outstanding. Method: a pair of engines, or one with CNPs and marks made by hand.
#include <gtest/gtest.h>

#include "tests/nic/pair.h"
#include "tests/nic/probe.h"

namespace nerve::nic {
namespace {

using test::said;

test::EndSetup with_dcqcn() {
  test::EndSetup setup;
  setup.config.flow_control.algorithm = CcAlgorithm::kDcqcn;
  return setup;
}

Rate rate_of(const Nic& nic) { return nic.glance_at_qps(1, Time{})[0].rate.value_or(Rate{}); }

wire::Frame cnp(test::Probe& probe) {
  wire::Frame frame = probe.frame(wire::Operation::kAcknowledge, 0);
  frame.headers.bth.opcode = wire::kCnpOpcode;
  frame.headers.bth.becn = true;
  return frame;
}

}  // namespace

TEST(RestartFlow, BringsTheLineRateBack) {
  test::Probe probe{with_dcqcn()};
  probe.end.bring_to(QpState::kRts);
  ASSERT_EQ(said(probe.end.post({.op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 8)),
            "done");
  ASSERT_EQ(probe.listen().size(), 1U);
  const Rate line = rate_of(probe.end.nic);
  probe.hear(cnp(probe));
  ASSERT_LT(rate_of(probe.end.nic), line);
  EXPECT_EQ(said(probe.end.nic.restart_flow(probe.end.qp, 0)),
            "busy: restart flow: requests are outstanding");
  wire::Frame ack = probe.frame(wire::Operation::kAcknowledge, 0);
  ack.headers.aeth = wire::Aeth{.syndrome = 0x1f, .msn = 1};
  probe.hear(ack);
  ASSERT_EQ(probe.end.completions().size(), 1U);
  ASSERT_LT(rate_of(probe.end.nic), line);
  EXPECT_FALSE(probe.end.nic.next_deadline()) << "rates recover without a timer";
  EXPECT_EQ(said(probe.end.nic.restart_flow(probe.end.qp, 0)), "done");
  EXPECT_EQ(rate_of(probe.end.nic), line);
}

TEST(RestartFlow, ForgetsWhenTheLastCnpWasSent) {
  test::Probe probe;
  probe.end.bring_to(QpState::kRts);
  const auto marked = [&](std::uint32_t psn) {
    wire::Frame frame = probe.frame_at(wire::Operation::kWriteOnly, psn, 0, 8, 8);
    frame.flow.set_ecn(wire::Ecn::kCongestion);
    return frame;
  };
  probe.hear(marked(0));
  probe.hear(marked(1));
  EXPECT_EQ(probe.end.nic.counters().cnps_sent, 1U);
  EXPECT_EQ(said(probe.end.nic.restart_flow(probe.end.qp, 5)), "done");
  probe.hear(marked(2));
  EXPECT_EQ(probe.end.nic.counters().cnps_sent, 2U);
}

TEST(RestartFlow, ChangesTheSourcePortAndKeepsTheSequence) {
  test::Pair pair;
  pair.connect();
  ASSERT_EQ(said(pair.b.post_receive(1, 0, 64)), "done");
  ASSERT_EQ(said(pair.b.post_receive(2, 0, 64)), "done");
  ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 8)), "done");
  pair.exchange();
  ASSERT_EQ(pair.a.completions().size() + pair.b.completions().size(), 2U);
  const test::Seen before = pair.seen.front();
  pair.seen.clear();
  EXPECT_EQ(said(pair.a.nic.restart_flow(pair.a.qp, 0x12345)), "done");
  ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 8)), "done");
  pair.exchange();
  EXPECT_EQ(pair.a.completions().size(), 1U);
  EXPECT_EQ(pair.b.completions().size(), 1U);
  const test::Seen after = pair.seen.front();
  EXPECT_NE(after.flow.source_port, before.flow.source_port);
  EXPECT_EQ(after.headers.bth.psn, before.headers.bth.psn + 1);
}

TEST(RestartFlow, RefusesWhatIsNotConnected) {
  test::Pair pair;
  EXPECT_EQ(said(pair.a.nic.restart_flow(pair.a.qp, 1)), "invalid: flow: the QP is not connected");
  EXPECT_EQ(said(pair.a.nic.restart_flow({}, 1)), "no such object: flow: no such QP");
  pair.connect();
  EXPECT_EQ(said(pair.a.nic.restart_flow(pair.a.qp, 0x10'0000)),
            "invalid: flow: flow_label is 20 bits");
  test::EndSetup datagrams;
  datagrams.type = QpType::kUd;
  test::Pair others{datagrams};
  others.connect();
  EXPECT_EQ(said(others.a.nic.restart_flow(others.a.qp, 1)),
            "invalid: flow: the QP is not connected");
}

}  // namespace nerve::nic
