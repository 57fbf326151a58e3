// Goal: QPs share receives in the order of posting, and the limit event is raised in time.
#include <gtest/gtest.h>

#include "nic/nic.h"
#include "tests/nic/pair.h"

namespace nerve::nic {
namespace {

using test::said;
using Kinds = std::vector<EventKind>;

struct SrqTest : ::testing::Test {
  test::Pair pair{test::EndSetup{.srq = true}};
  void SetUp() override { pair.connect(); }
  void send(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_TRUE(pair.a.post({.flags = SendFlags::kSignaled}, 0, 100));
    }
    pair.exchange();
  }
};

TEST_F(SrqTest, QueryTellsWhatItIs) {
  ASSERT_TRUE(pair.b.nic.set_srq_limit(pair.b.srq, 3));
  const SrqQuery query = *pair.b.nic.query_srq(pair.b.srq);
  EXPECT_EQ(query.max_wr, 16U);
  EXPECT_EQ(query.max_sge, 4U);
  EXPECT_EQ(query.limit, 3U);
  EXPECT_NE(query.number, 0U);
}

TEST_F(SrqTest, QpWithAnSrqRejectsPostRecv) {
  EXPECT_EQ(said(pair.b.nic.post_recv(pair.b.qp, {})), "invalid: post receive: the QP has an SRQ");
}

TEST_F(SrqTest, IsFullAtItsDepth) {
  for (std::uint64_t id = 0; id < 16; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 100));
  EXPECT_EQ(said(pair.b.post_receive(16, 0, 100)), "queue full: post receive: queue full");
}

TEST_F(SrqTest, LimitIsToldOnceAndDisarmsItself) {
  for (std::uint64_t id = 0; id < 8; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 100));
  EXPECT_EQ(said(pair.b.nic.set_srq_limit(pair.b.srq, 17)),
            "invalid: modify srq: limit above max_wr");
  ASSERT_TRUE(pair.b.nic.set_srq_limit(pair.b.srq, 6));
  send(2);
  EXPECT_EQ(pair.b.events(), Kinds{}) << "six are left: not below the limit";
  send(1);
  EXPECT_EQ(pair.b.events(), Kinds{EventKind::kSrqLimitReached});
  EXPECT_EQ(pair.b.nic.query_srq(pair.b.srq)->limit, 0U);
  send(2);
  EXPECT_EQ(pair.b.events(), Kinds{});
  ASSERT_TRUE(pair.b.nic.set_srq_limit(pair.b.srq, 3));
  send(1);
  EXPECT_EQ(pair.b.events(), Kinds{EventKind::kSrqLimitReached}) << "armed again";
  EXPECT_EQ(pair.b.completions().size(), 6U);
}

TEST_F(SrqTest, GivesReceivesInTheOrderOfPosting) {
  for (std::uint64_t id = 0; id < 5; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 100));
  send(5);
  const auto got = pair.b.completions();
  ASSERT_EQ(got.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(got[i].wr_id, i);
}

// Receives that were not taken belong to the other QPs.
TEST_F(SrqTest, ErrorOfAQpLeavesTheReceivesAlone) {
  for (std::uint64_t id = 0; id < 2; ++id) ASSERT_TRUE(pair.b.post_receive(id, 0, 100));
  pair.b.step(QpState::kErr);
  EXPECT_TRUE(pair.b.completions().empty());
  EXPECT_EQ(pair.b.events(), Kinds{EventKind::kQpLastWqeReached});
  pair.connect();
  send(2);
  EXPECT_EQ(pair.b.completions().size(), 2U);
}

}  // namespace
}  // namespace nerve::nic
