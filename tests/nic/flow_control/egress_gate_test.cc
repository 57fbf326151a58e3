// Goal: a QP builds no more frames than the gate grants, waits while it grants none, and resumes
// where it stopped when there is room again.
#include "nic/flow_control/egress_gate.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

struct Allowance final : EgressGate {
  std::uint32_t left{};
  std::uint32_t grant(const Request& request) override {
    const std::uint32_t granted = std::min(request.frames, left);
    left -= granted;
    return granted;
  }
  bool grant_acknowledge(const wire::Flow& /*flow*/, Qpn /*destination*/) override {
    return acknowledgements > 0 && acknowledgements-- > 0;
  }
  void give_back(std::uint32_t unused) override { left += unused; }
  std::uint32_t acknowledgements{};
};

constexpr std::uint32_t kMessage = 10 * 1024;  // ten packets

TEST(EgressGate, ParksAQpUntilThereIsRoom) {
  Allowance gate;
  test::EndSetup setup;
  setup.hooks.gate = &gate;
  test::Pair pair{setup};
  gate.left = 100;
  pair.connect();
  pair.exchange();
  pair.a.fill(0, kMessage, 7);
  ASSERT_TRUE(pair.b.post_receive(9, 0, kMessage));

  gate.left = 4;
  ASSERT_TRUE(
      pair.a.post({.wr_id = 1, .op = SendOp::kSend, .flags = SendFlags::kSignaled}, 0, kMessage));
  TxBurst burst{64};
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 4U);
  EXPECT_TRUE(pair.a.nic.any_parked());
  EXPECT_TRUE(burst[3].headers.bth.ack_request) << "the rest may be long in coming";
  EXPECT_EQ(pair.a.nic.query_qp(pair.a.qp)->sends.waits_for, SendWait::kPath);
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 0U);

  gate.left = 1000;
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 0U) << "nobody has said that there is room";
  pair.a.nic.resume();
  EXPECT_FALSE(pair.a.nic.any_parked());
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 6U);
}

TEST(EgressGate, ATurnGivesBackWhatItDidNotUse) {
  Allowance gate;
  test::EndSetup setup;
  setup.hooks.gate = &gate;
  test::Pair pair{setup};
  pair.connect();
  gate.left = 100;
  ASSERT_TRUE(pair.a.post({.wr_id = 1, .op = SendOp::kSend}, 0, 8));
  TxBurst burst{64};
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 1U);
  EXPECT_EQ(gate.left, 99U);
}

TEST(EgressGate, AParkedQpMayBeDestroyed) {
  Allowance gate;
  test::EndSetup setup;
  setup.hooks.gate = &gate;
  test::Pair pair{setup};
  pair.connect();
  ASSERT_TRUE(pair.a.post({.wr_id = 1, .op = SendOp::kSend}, 0, 8));
  TxBurst burst{64};
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 0U);
  ASSERT_TRUE(pair.a.nic.any_parked());
  ASSERT_TRUE(pair.a.nic.destroy_qp(pair.a.qp));
  EXPECT_FALSE(pair.a.nic.any_parked());
  pair.a.nic.resume();
}

// A peer that has its data destroys its QP and would never acknowledge the last packet.
TEST(EgressGate, AParkedQpAcknowledgesWhereThereIsRoomForThatOnly) {
  Allowance gate;
  test::EndSetup setup;
  setup.hooks.gate = &gate;
  test::Pair pair{setup};
  gate.left = 100;
  pair.connect();
  for (std::uint64_t id = 0; id < 2; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 8));
  TxBurst burst{64};
  Psn sent;
  const auto send = [&] {
    gate.left = 100;
    EXPECT_TRUE(pair.a.post({.wr_id = 1, .op = SendOp::kSend}, 0, 8));
    EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 1U);
    sent = burst.frames()[0].headers.bth.psn;
    pair.b.nic.receive(burst.frames(), pair.now);
    gate.left = 0;
  };
  send();
  EXPECT_EQ(pair.b.nic.transmit(burst, pair.now), 0U);
  EXPECT_TRUE(pair.b.nic.any_parked());

  send();
  gate.acknowledgements = 1;
  ASSERT_TRUE(pair.b.nic.wants_to_send());
  ASSERT_EQ(pair.b.nic.transmit(burst, pair.now), 1U);
  EXPECT_EQ(burst.frames()[0].headers.bth.psn, sent);
  EXPECT_FALSE(pair.b.nic.any_parked());
}

TEST(EgressGate, DatagramsAskOneByOne) {
  Allowance gate;
  test::EndSetup setup;
  setup.type = QpType::kUd;
  setup.hooks.gate = &gate;
  test::Pair pair{setup};
  pair.connect();
  const auto ah = pair.a.nic.create_ah(pair.a.pd, {.destination = pair.b.gid});
  ASSERT_TRUE(ah);
  gate.left = 2;
  for (std::uint64_t id = 0; id < 3; ++id) {
    ASSERT_TRUE(pair.a.post(
        {.wr_id = id, .op = SendOp::kSend, .ah = *ah, .remote_qpn = pair.b.qpn()}, 0, 8));
  }
  TxBurst burst{64};
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 2U);
  ASSERT_TRUE(pair.a.nic.any_parked());
  gate.left = 5;
  pair.a.nic.resume();
  EXPECT_EQ(pair.a.nic.transmit(burst, pair.now), 1U);
  EXPECT_EQ(gate.left, 4U);
}

}  // namespace
}  // namespace nerve::nic
