// Goal: siblings, engines of one device, share memory, CQs and SRQs and nothing else: each has its
// own QPs, timers and events, and a CQ raises its events in the engine of its first QP.
#include <gtest/gtest.h>

#include <array>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

constexpr std::uint32_t kApart = 1U << 14U;

// The pair's second engine is not used; a sibling of the first replaces it.
struct Siblings : ::testing::Test {
  test::End first{1, {}};
  Nic second{config(), {}, first.nic};
  QpHandle qp{};  // of the second

  static NicConfig config() {
    NicConfig config;
    config.first_qpn = Qpn{kApart};
    return config;
  }

  void SetUp() override {
    ASSERT_TRUE(second.set_gid(0, first.gid));
    second.set_port_active(true);
    while (second.next_event()) {
    }
    const auto made = second.create_qp({.type = QpType::kRc,
                                        .pd = first.pd,
                                        .send_cq = first.cq,
                                        .recv_cq = first.cq,
                                        .caps = first.setup.caps});
    ASSERT_TRUE(made) << test::said(made.error());
    qp = *made;
  }
};

TEST_F(Siblings, KnowEachOthersObjectsAndOwnTheirQps) {
  EXPECT_EQ(second.query_qp(qp)->qpn, Qpn{kApart});
  EXPECT_EQ(second.keys_of(first.mr)->rkey, first.keys.rkey);
  // The CQ and the domain now have a user in each engine.
  EXPECT_EQ(first.nic.destroy_cq(first.cq).error().code, ErrorCode::kBusy);
  EXPECT_TRUE(first.nic.destroy_qp(first.qp));
  EXPECT_EQ(first.nic.destroy_cq(first.cq).error().code, ErrorCode::kBusy);
  EXPECT_EQ(second.dealloc_pd(first.pd).error().code, ErrorCode::kBusy);
  EXPECT_TRUE(second.destroy_qp(qp));
  EXPECT_TRUE(second.destroy_cq(first.cq));
}

TEST_F(Siblings, ACqRaisesEventsInTheEngineOfItsFirstQp) {
  ASSERT_TRUE(first.nic.arm_cq(first.cq, false));
  ASSERT_TRUE(second.modify_qp(qp, QpState::kErr, {}, {}));
  const Sge none{};
  ASSERT_TRUE(second.post_recv(qp, {.wr_id = 9, .sges = {&none, 0}}));
  EXPECT_FALSE(second.next_event());
  const auto event = first.nic.next_event();
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, EventKind::kCompletion);
  std::array<Completion, 4> got{};
  ASSERT_EQ(*first.nic.poll_cq(first.cq, got), 1U);
  EXPECT_EQ(got[0].wr_id, 9U);
  EXPECT_EQ(got[0].qpn, Qpn{kApart});
}

TEST_F(Siblings, ADestroyedCqTakesItsEventsAlong) {
  ASSERT_TRUE(first.nic.arm_cq(first.cq, false));
  ASSERT_TRUE(second.modify_qp(qp, QpState::kErr, {}, {}));
  const Sge none{};
  ASSERT_TRUE(second.post_recv(qp, {.wr_id = 9, .sges = {&none, 0}}));
  ASSERT_TRUE(second.destroy_qp(qp));
  ASSERT_TRUE(first.nic.destroy_qp(first.qp));
  ASSERT_TRUE(second.destroy_cq(first.cq));  // by either engine
  EXPECT_FALSE(first.nic.next_event());
}

}  // namespace
}  // namespace nerve::nic
