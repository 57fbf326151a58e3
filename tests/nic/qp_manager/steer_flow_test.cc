// Goal: a controller changes the source port and the rate of a running QP, and nothing else.
// Method: a pair of engines whose frames are logged.
#include <gtest/gtest.h>

#include "nic/ethernet/port.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::said;

QpFlow flow_of(test::End& end) {
  const QpFlows listed = end.nic.list_flows(0, 100);
  EXPECT_EQ(listed.flows.size(), 1U);
  return listed.flows.empty() ? QpFlow{} : listed.flows[0];
}

std::string steered(test::Pair& pair, const FlowSteering& steering) {
  return said(pair.a.nic.steer_flow(pair.a.qpn(), pair.b.qpn(), steering));
}

}  // namespace

TEST(FlowLabel, ExistsForEachPortOfRoce) {
  for (std::uint32_t port = kFirstSourcePort; port <= 0xffff; ++port) {
    const auto label = flow_label_for(static_cast<std::uint16_t>(port));
    ASSERT_TRUE(label);
    ASSERT_NE(*label, 0U) << "stands for the hash of the QPNs";
    ASSERT_LE(*label, 0xf'ffffU);
    ASSERT_EQ(source_port(*label, Qpn{0x123}, Qpn{0x456}), port);
  }
  EXPECT_FALSE(flow_label_for(kFirstSourcePort - 1));
  EXPECT_FALSE(flow_label_for(0));
}

TEST(SteerFlow, ChangesThePortAndKeepsTheSequence) {
  test::Pair pair;
  pair.connect();
  ASSERT_EQ(said(pair.b.post_receive(1, 0, 64)), "done");
  ASSERT_EQ(said(pair.b.post_receive(2, 0, 64)), "done");
  ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 8)), "done");
  pair.exchange();
  const test::Seen before = pair.seen.front();
  pair.seen.clear();
  const auto changed =
      pair.a.nic.steer_flow(pair.a.qpn(), pair.b.qpn(), {.source_port = 0xc123, .rate_limit = {}});
  EXPECT_TRUE(changed && *changed);
  const auto same =
      pair.a.nic.steer_flow(pair.a.qpn(), pair.b.qpn(), {.source_port = 0xc123, .rate_limit = {}});
  EXPECT_TRUE(same && !*same);
  ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 8)), "done");
  pair.exchange();
  EXPECT_EQ(pair.seen.front().flow.source_port, 0xc123);
  EXPECT_EQ(pair.seen.front().headers.bth.psn, before.headers.bth.psn + 1);
  EXPECT_EQ(pair.b.completions().size(), 2U);
  EXPECT_EQ(flow_of(pair.a).flow.source_port, 0xc123);
}

TEST(SteerFlow, RefusesAnotherPeerAndOtherPorts) {
  test::Pair pair;
  pair.connect();
  const std::uint16_t port = flow_of(pair.a).flow.source_port;
  const std::string stranger = "no such object: steer flow: no QP is connected with this peer";
  EXPECT_EQ(said(pair.a.nic.steer_flow(pair.a.qpn(), Qpn{pair.b.qpn().value() ^ 1U},
                                       {.source_port = 0xc001, .rate_limit = {}})),
            stranger);
  EXPECT_EQ(said(pair.a.nic.steer_flow(Qpn{0xabcdef}, pair.b.qpn(),
                                       {.source_port = 0xc001, .rate_limit = {}})),
            stranger);
  EXPECT_EQ(steered(pair, {.source_port = 4791, .rate_limit = {}}),
            "invalid: steer flow: a source port that RoCEv2 does not use");
  EXPECT_EQ(flow_of(pair.a).flow.source_port, port);
  test::Pair fresh;
  EXPECT_EQ(
      said(fresh.a.nic.steer_flow(fresh.a.qpn(), Qpn{}, {.source_port = 0xc001, .rate_limit = {}})),
      stranger);
}

TEST(SteerFlow, NeverRaisesTheRateThatTheProgramHasSet) {
  test::Pair pair;
  pair.connect();
  const auto program = [&](Rate rate) {
    ASSERT_EQ(said(pair.a.nic.modify_qp(pair.a.qp, QpState::kRts, QpAttrs::kRateLimit,
                                        {.rate_limit = rate})),
              "done");
  };
  program(Rate::gigabits(1));
  EXPECT_EQ(steered(pair, {.source_port = 0, .rate_limit = Rate::gigabits(2)}), "done");
  EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->attributes.rate_limit, Rate::gigabits(1));
  EXPECT_EQ(steered(pair, {.source_port = 0, .rate_limit = Rate::megabits(100)}), "done");
  EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->attributes.rate_limit, Rate::gigabits(1))
      << "the program sees what it has set";
}

TEST(SteerFlow, SlowsAQpDownButNeverStopsIt) {
  constexpr std::uint32_t kSize = 4096;
  constexpr std::size_t kMessages = 10;  // 33 ms at the least rate
  test::Pair pair;
  pair.connect();
  EXPECT_EQ(steered(pair, {.source_port = 0, .rate_limit = Rate::bits_per_second(1)}), "done");
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(said(pair.b.post_receive(i, 0, kSize)), "done");
    ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend}, 0, kSize)), "done");
  }
  pair.exchange();
  pair.wait(std::chrono::milliseconds{10});
  EXPECT_LT(pair.b.completions().size(), kMessages);
  EXPECT_EQ(steered(pair, {}), "done");
  pair.wait(std::chrono::milliseconds{5});
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(said(pair.b.post_receive(i, 0, kSize)), "done");
    ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend}, 0, kSize)), "done");
  }
  pair.exchange();
  EXPECT_GE(pair.b.completions().size(), kMessages) << "the limit is gone";
  EXPECT_EQ(steered(pair, {.source_port = 0, .rate_limit = Rate::bits_per_second(1)}), "done");
  for (std::size_t i = 0; i < kMessages; ++i) {
    ASSERT_EQ(said(pair.b.post_receive(i, 0, kSize)), "done");
    ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend}, 0, kSize)), "done");
  }
  pair.exchange();
  pair.wait(std::chrono::milliseconds{100});
  EXPECT_EQ(pair.b.completions().size(), kMessages);
}

TEST(ListFlows, CountsPayloadAndRetransmissions) {
  test::Pair pair;
  EXPECT_TRUE(pair.a.nic.list_flows(0, 100).flows.empty()) << "not connected";
  pair.connect();
  bool lost = false;
  pair.lose = [&](const test::Seen& seen) {
    return seen.from_a && seen.payload_length > 0 && !std::exchange(lost, true);
  };
  ASSERT_EQ(said(pair.b.post_receive(1, 0, 4096)), "done");
  ASSERT_EQ(said(pair.a.post({.op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, 4096)),
            "done");
  pair.exchange();
  ASSERT_EQ(pair.b.completions().size(), 1U);
  const QpFlow flow = flow_of(pair.a);
  EXPECT_EQ(flow.qpn, pair.a.qpn());
  EXPECT_EQ(flow.peer, pair.b.qpn());
  EXPECT_EQ(flow.flow.destination, pair.b.gid);
  EXPECT_GT(flow.packets_retransmitted, 0U);
  EXPECT_EQ(flow.bytes_sent, 4096U + 1024U * flow.packets_retransmitted);
  ASSERT_EQ(said(pair.a.post({.op = SendOp::kRead,
                              .flags = SendFlags::kSignaled,
                              .remote_address = pair.b.at(0),
                              .rkey = pair.b.keys.rkey},
                             0, 2000)),
            "done");
  pair.exchange();
  EXPECT_EQ(flow_of(pair.b).bytes_sent, 2000U) << "the answer to a READ";
}

TEST(ListFlows, GoesOnWhereItStopped) {
  test::Pair pair;
  for (int i = 0; i < 5; ++i) (void)pair.a.make_qp();
  pair.connect();
  std::size_t listed = 0;
  std::uint32_t calls = 0;
  for (std::optional<std::uint32_t> from = 0; from; ++calls) {
    const QpFlows some = pair.a.nic.list_flows(*from, 2);
    listed += some.flows.size();
    from = some.next;
  }
  EXPECT_EQ(listed, 1U);
  EXPECT_EQ(calls, 3U);
  EXPECT_FALSE(pair.a.nic.list_flows(1000, ~0U).next);
}

}  // namespace nerve::nic
