// A QP that waits for the pacer after a timeout has moved back but has not retransmitted anything
// yet. A NAK or response data that was still in flight reports the same loss, but was counted as
// another one: the NAK took the last retry (LifeWorlds, seed 42758 and others), and data beyond the
// missing response restarted the timer (seed 197039).
#include <gtest/gtest.h>

#include "tests/regressions/side.h"

namespace nerve::nic {

TEST(LateNak, DoesNotTakeARetryBeforeRetransmission) {
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

TEST(LateResponse, DoesNotStartTheTimerBeforeRetransmission) {
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

}  // namespace nerve::nic
